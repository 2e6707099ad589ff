"""The LaTeX tables compile and contain the fits."""

import re
import shutil
import subprocess

import pytest
from pylatexenc.latexwalker import LatexEnvironmentNode, LatexWalker

from crawl_urn_dagster.estimates.assessment.result import Assessment
from crawl_urn_dagster.estimates.assessment.verdicts import VerdictName, state_verdict
from crawl_urn_dagster.export.latex import parameters_tex
from crawl_urn_dagster_tests.export.frames import ASSESSMENT, fit, frame

MISFIT = Assessment(state_verdict(VerdictName.MISFIT))


def environments(nodes):
    for node in nodes:
        if isinstance(node, LatexEnvironmentNode):
            yield node
            yield from environments(node.nodelist)


def check_latex(text, tmp_path):
    """Parse strictly and count the cells of every row; also compile if a compiler is installed."""
    parsed, *_ = LatexWalker(text, tolerant_parsing=False).get_latex_nodes()
    tabulars = [node for node in environments(parsed) if node.environmentname == "tabular"]
    assert len(tabulars) == 3
    for tabular in tabulars:
        columns, body = re.fullmatch(
            r"\\begin\{tabular\}\{([lr]+)\}(.*)\\end\{tabular\}", tabular.latex_verbatim(), re.DOTALL
        ).groups()
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows
        for row in rows:
            assert len(re.split(r"(?<!\\)&", row)) == len(columns), row
            outside_mathematics = "".join(re.split(r"(?<!\\)\$", row)[::2])
            assert not re.search(r"(?<!\\)[_^#%]", outside_mathematics), row
    compiler = shutil.which("pdflatex") or shutil.which("lualatex") or shutil.which("tectonic")
    if compiler:
        (tmp_path / "parameters.tex").write_text(text)
        page = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{parameters}\\end{document}\n"
        (tmp_path / "page.tex").write_text(page)
        flags = [] if compiler.endswith("tectonic") else ["-interaction=nonstopmode", "-halt-on-error"]
        subprocess.run([compiler, *flags, "page.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_latex_has_intervals_status_and_infinity(folder, tmp_path):
    text = (folder / "parameters.tex").read_text()
    check_latex(text, tmp_path)
    first, special, unreported = [line for line in text.splitlines() if line.startswith(("all &", r"a,"))]
    assert first == (
        r"all & joint & core shell & crawl & $0.400_{0.390}^{0.410}$ & -- & $1.00$ & $0.0000$ & ok$^\ast$ \\"
    )
    shown = (
        r'a,"b"\% \& \# \_ \$ \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \textless{}é\textgreater{}'
    )
    assert special.startswith(f"{shown} & joint")
    assert special.endswith(r"& not identified \\")
    assert unreported == r"all & joint & homogeneous & crawl & -- & -- & -- & -- & model violation \\"
    assert r"residual lifetime after the present crawl & $\infty_{12.3}^{\infty}$ & crawls \\" in text


def test_latex_has_booktabs_rules_caption_and_small_text(folder):
    text = (folder / "parameters.tex").read_text()
    for command in (r"\begin{table}", r"\centering", r"\footnotesize", r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(command) == 3
    assert r"\begin{tabular}{llllrrrrl}" in text
    assert r"\begin{tabular}{lrl}" in text
    assert r"\caption{odd: quantities for operators. Fit: joint, core shell, per crawl; status: ok." in text


def test_latex_has_the_quantities_that_may_be_quoted(folder):
    text = (folder / "parameters.tex").read_text().split(r"\end{table}")[0]
    assert r"Verdict: uneven shell; numbers may be quoted: yes, with a reservation; model: core two shells." in text
    assert r"known eligible elements & $1402_{1390}^{1415}$ & elements \\" in text
    assert r"$\kappa$ & $0.444_{0.394}^{0.480}$ & fraction \\" in text
    assert r"$\mu$ & $0.500$ to $0.700$ & fraction \\" in text
    assert r"largest core fraction & $0.0200$ & fraction \\" in text
    assert r"survival per crawl & -- & fraction \\" in text


@pytest.mark.parametrize(("status", "assessment"), [("refuted", ASSESSMENT), ("ok", MISFIT)])
def test_latex_has_no_terms_of_a_withheld_headline(tmp_path, status, assessment):
    fits = [fit(headline=True, status=status)]
    text = parameters_tex(assessment, frame("parameters", fits), frame("operator_terms", fits), name="a_b")
    check_latex(text, tmp_path)
    terms = text.split(r"\label{tab:a_b:terms}")[1]
    assert "residual lifetime after the present crawl & -- &" in terms
    assert not re.search(r"\d\.\d", terms)


def test_latex_has_no_numbers_of_an_unreported_headline(tmp_path):
    fits = [fit(headline=True, status="model_violation")]
    text = parameters_tex(MISFIT, frame("parameters", fits), frame("operator_terms", fits), name="a_b")
    check_latex(text, tmp_path)
    assert "model violation" in text
    assert r"\label{tab:a_b:terms}" in text
    assert not re.search(r"\d\.\d", text)
