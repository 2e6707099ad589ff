"""Share what takes long to make between the processes of a test run.

Does not make anything itself.
"""

import pickle

from filelock import FileLock


def make_once(tmp_path_factory, worker_id, name, make):
    """Return a folder and what `make` returned for it; the first process to need them makes them for all.

    No test may write to the folder.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / name
    folder.mkdir(exist_ok=True)
    made = folder / ".made.pickle"
    with FileLock(folder / ".made.lock"):
        if not made.exists():
            made.write_bytes(pickle.dumps(make(folder)))
    return folder, pickle.loads(made.read_bytes())
