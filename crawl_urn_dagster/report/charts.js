// Draw the charts of a report, linked by crawl. Each is described by the attribute data-chart of its element, as JSON.
// Text from data is written with textContent, setAttribute and the canvas only: never as markup.
(() => {
  "use strict";
  const HELP = "Point at a chart, or use the arrow keys, for the values of a crawl; it is marked in all charts. Drag, " +
    "or press + and −, to select crawls in all charts; Escape shows all.";
  const DAY = 86400;
  const COLOURS = 6;
  const crawls = JSON.parse(document.querySelector("main").dataset.crawls);
  const state = { at: crawls.times[crawls.times.length - 1], range: null };
  const charts = [];
  const hosts = [...document.querySelectorAll(".interactive")];

  const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
  const precise = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 4 });
  const compact = new Intl.NumberFormat("en-GB", { notation: "compact", maximumSignificantDigits: 3 });

  function element(tag, parent, text = "", attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent.append(made);
    return made;
  }

  function nearest(values, value) {
    let best = 0;
    for (let i = 1; i < values.length; i++) if (Math.abs(values[i] - value) < Math.abs(values[best] - value)) best = i;
    return best;
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const isKnown = (value) => value !== null && value !== undefined;

  class Chart {
    constructor(host) {
      this.host = host;
      this.spec = { ...crawls, ...JSON.parse(host.dataset.chart) };
      this.hasLags = "rows" in this.spec;
      this.x = this.hasLags ? this.spec.rows[0].map((_, i) => i + 1) : this.spec.times;
      this.index = 0;
      this.series = this.spec.series;
      this.plot = null;
      host.hidden = false;
      this.buildFrame();
      new ResizeObserver(() => this.resize()).observe(this.box);
    }

    buildFrame() {
      const { host, spec } = this;
      element("p", host, spec.title, { class: "chart-title" });
      this.box = element("div", host, "", {
        class: "plot", role: "slider", tabindex: "0", "aria-label": spec.title, "aria-valuemin": "1",
        "aria-valuemax": String(this.x.length), "aria-valuenow": "1", "aria-describedby": "chart-help",
      });
      this.box.addEventListener("keydown", (event) => this.press(event));
      this.readout = element("ul", host, "", { class: "readout" });
      const tools = element("p", host, "", { class: "tools" });
      for (const [text, act] of [["Zoom in", () => zoom(0.5)], ["Zoom out", () => zoom(2)], ["All crawls", () => select(null)]]) {
        element("button", tools, text, { type: "button" }).addEventListener("click", act);
      }
      const figure = host.nextElementSibling;
      if (figure && figure.classList.contains("replaced")) {
        const button = element("button", tools, "Figure for print", { type: "button", "aria-expanded": "false" });
        button.addEventListener("click", () => {
          button.setAttribute("aria-expanded", String(figure.classList.toggle("shown")));
        });
      }
      this.follow();
    }

    // Means and extremes over the pairs of selected crawls, and the pairs of the marked crawl.
    lagSeries() {
      const { rows, times, labels } = this.spec;
      const from = nearest(times, state.at);
      const inRange = (i) => state.range === null || (times[i] >= state.range[0] && times[i] <= state.range[1]);
      const pairs = this.x.map((lag) => rows.flatMap((row, i) => {
        const value = row[lag - 1];
        return isKnown(value) && inRange(i) && inRange(i + lag) ? [value] : [];
      }));
      const over = (reduce) => pairs.map((some) => (some.length ? reduce(some) : null));
      return [
        {
          name: "mean of all pairs, lowest to highest", line: true,
          values: over((some) => some.reduce((sum, one) => sum + one, 0) / some.length),
          low: over((some) => Math.min(...some)), high: over((some) => Math.max(...some)),
        },
        { name: `of crawl ${labels[from]} in later crawls`, line: false, values: this.x.map((lag) => rows[from][lag - 1] ?? null) },
      ];
    }

    columns() {
      if (this.hasLags) this.series = this.lagSeries();
      return [this.x, ...this.series.flatMap((one) => (one.low ? [one.values, one.low, one.high] : [one.values]))];
    }

    bounds() {
      const last = this.x.length - 1;
      const all = [this.x[0], this.x[last]];
      let [low, high] = all;
      if (!this.hasLags && state.range !== null) {
        [low, high] = [Math.max(low, state.range[0]), Math.min(high, state.range[1])];
        if (!this.x.some((value) => value >= low && value <= high)) [low, high] = all;
      }
      const margin = 0.02 * (high - low) || (this.hasLags ? 0.5 : DAY);
      return [low - margin, high + margin];
    }

    options() {
      const axis = {
        stroke: colour("--text"), font: "12px system-ui, sans-serif",
        grid: { stroke: colour("--line"), width: 0.5 }, ticks: { stroke: colour("--line"), width: 0.5 },
      };
      const series = [{}];
      const bands = [];
      this.series.forEach((one, i) => {
        const stroke = colour(`--series-${i % COLOURS}`);
        const isHollow = one.hollow === true;
        const main = {
          stroke, width: one.line ? 1.6 : 0, dash: i >= COLOURS ? [6, 3] : undefined, spanGaps: one.line,
          points: { show: true, size: one.line ? 4 : 6, width: 1.2, stroke, fill: isHollow ? colour("--page") : stroke },
        };
        if (!one.line) main.paths = () => null;
        series.push(main);
        if (one.low) {
          bands.push({ series: [series.length + 1, series.length], fill: `${stroke}33` });
          const edge = { stroke, width: 0, points: { show: false } };
          series.push(edge, edge);
        }
      });
      return {
        width: this.box.clientWidth, height: this.box.clientWidth < 500 ? 220 : 280, legend: { show: false }, series, bands,
        tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "Etc/UTC"),
        scales: { x: { time: !this.hasLags, range: () => this.bounds() }, y: { range: (_, low, high) => this.limits(low, high) } },
        axes: [
          { ...axis, space: 90, size: 32, values: (_, at, __, ___, step) => (this.hasLags ? lags(at) : dates(at, step)) },
          { ...axis, size: 62, values: (_, at) => at.map((value) => (this.spec.share ? `${+(100 * value).toFixed(2)} %` : compact.format(value))) },
        ],
        cursor: {
          x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false },
          bind: { dblclick: () => () => select(null), mouseleave: () => null },
        },
        hooks: {
          setSelect: [(plot) => this.drag(plot)],
          draw: [(plot) => this.mark(plot)],
        },
      };
    }

    limits(low, high) {
      if (!isKnown(low)) return [0, 1];
      if (!this.spec.share) return [0, 1.05 * high || 1];
      const margin = 0.08 * (high - low) || 0.02;
      return [Math.max(0, low - margin), Math.min(1.01, high + margin)];
    }

    resize() {
      const width = this.box.clientWidth;
      if (!width || (this.plot && this.plot.width === width)) return;
      this.draw();
    }

    draw() {
      if (!this.box.clientWidth) return;
      if (this.plot) this.plot.destroy();
      const columns = this.columns();
      this.plot = new uPlot(this.options(), columns, this.box);
      this.plot.over.addEventListener("mousemove", (event) => this.point(this.plot.posToIdx(event.offsetX)));
    }

    point(index) {
      if (index === this.index) return;
      if (this.hasLags) {
        this.index = index;
        this.show();
        if (this.plot) this.plot.redraw(false);
      } else mark(this.x[index]);
    }

    follow() {
      if (!this.hasLags) this.index = nearest(this.x, state.at);
      else if (this.plot) this.plot.setData(this.columns(), false);
      this.show();
      if (this.plot) this.plot.redraw(this.hasLags);
    }

    restrict() {
      if (this.hasLags) this.follow();
      if (!this.plot) return;
      const [min, max] = this.bounds();
      this.plot.setScale("x", { min, max });
    }

    drag(plot) {
      const { left, width } = plot.select;
      if (width < 6) return;
      const ends = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      if (!this.hasLags) select(ends);
    }

    mark(plot) {
      const { ctx } = plot;
      const ratio = devicePixelRatio;
      const x = plot.valToPos(this.x[this.index], "x", true);
      if (x < plot.bbox.left - 1 || x > plot.bbox.left + plot.bbox.width + 1) return;
      ctx.save();
      ctx.strokeStyle = colour("--text");
      ctx.lineWidth = ratio;
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, plot.bbox.top);
      ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
      for (const { values } of this.series) {
        if (!isKnown(values[this.index])) continue;
        ctx.beginPath();
        ctx.arc(x, plot.valToPos(values[this.index], "y", true), 5 * ratio, 0, 2 * Math.PI);
        ctx.stroke();
      }
      ctx.restore();
    }

    press(event) {
      const last = this.x.length - 1;
      const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -last, End: last };
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key in moves) this.point(Math.min(last, Math.max(0, this.index + moves[event.key])));
      else if (event.key === "+" || event.key === "=") zoom(0.5);
      else if (event.key === "-" || event.key === "−") zoom(2);
      else if (event.key === "Escape") select(null);
      else return;
      event.preventDefault();
    }

    // A value with its interval, with the decimals that the text of the page has (interval_decimals in formatting.py).
    format(value, low, high) {
      const scale = this.spec.share ? 100 : 1;
      const unit = this.spec.share ? " %" : "";
      const one = (number) => (Math.abs(number) < 1000 && !unit ? precise.format(number) : whole.format(number));
      if (!isKnown(low) || low === high) return unit ? `${(scale * value).toFixed(1)}${unit}` : one(value);
      const middle = scale * (value ?? low);
      const apart = Math.ceil(Math.log10(4 / (scale * (high - low))) - 1e-9);
      const forValue = middle ? 1 - Math.floor(Math.log10(Math.abs(middle))) : apart;
      const decimals = Math.min(Math.max(apart, forValue), apart + 1, 8);
      const step = 10 ** Math.max(-decimals, 0);
      const written = new Intl.NumberFormat("en-GB", {
        minimumFractionDigits: Math.max(decimals, 0), maximumFractionDigits: Math.max(decimals, 0),
      });
      const round = (number) => written.format(step > 1 ? step * Math.round(number / step) : number);
      const ends = `${round(scale * low)} to ${round(scale * high)}`;
      return isKnown(value) ? `${round(middle)}${unit} (${ends})` : `not identified (${ends}${unit})`;
    }

    show() {
      if (this.hasLags) this.series = this.lagSeries();
      const label = this.hasLags ? `lag ${this.x[this.index]}` : this.spec.labels[this.index];
      const items = this.series.flatMap(({ name, values, low, high }, i) => {
        const found = [values, low ?? [], high ?? []].map((some) => some[this.index]);
        return isKnown(found[0]) || isKnown(found[1]) ? [[i, name, this.format(...found)]] : [];
      });
      this.readout.replaceChildren();
      element("li", this.readout, label, { class: "at" });
      if (!items.length) element("li", this.readout, "no value");
      for (const [i, name, shown] of items) {
        const item = element("li", this.readout);
        element("span", item, "", { class: `swatch series-${i % COLOURS}` });
        item.append(`${name} `);
        element("strong", item, shown);
      }
      this.box.setAttribute("aria-valuenow", String(this.index + 1));
      this.box.setAttribute("aria-valuetext", [label, ...(items.length ? items.map(([, name, shown]) => `${name} ${shown}`) : ["no value"])].join("; "));
    }
  }

  const lags = (at) => at.map((lag) => (Number.isInteger(lag) ? lag : ""));

  function dates(at, step) {
    const length = step >= 300 * DAY ? 4 : step >= 28 * DAY ? 7 : step >= DAY ? 10 : 16;
    return at.map((seconds) => new Date(1000 * seconds).toISOString().slice(0, length).replace("T", " "));
  }

  function mark(seconds) {
    state.at = seconds;
    for (const chart of charts) chart.follow();
    remember();
  }

  function select(ends) {
    const { times, labels } = crawls;
    const within = ends === null ? [] : times.map((_, i) => i).filter((i) => times[i] >= ends[0] && times[i] <= ends[1]);
    state.range = within.length ? [times[within[0]], times[within[within.length - 1]]] : null;
    notice.hidden = state.range === null;
    if (state.range !== null) {
      const names = [...new Set([labels[within[0]], labels[within[within.length - 1]]])].join(" to ");
      noticeText.textContent = `Charts show ${within.length} of ${times.length} crawls: ${names}`;
    }
    for (const chart of charts) chart.restrict();
    remember();
  }

  function zoom(factor) {
    const { times } = crawls;
    const [low, high] = state.range ?? [times[0], times[times.length - 1]];
    const centre = Math.min(high, Math.max(low, state.at));
    const half = Math.max((factor * (high - low)) / 2, DAY / 2);
    const ends = [Math.max(times[0], centre - half), Math.min(times[times.length - 1], centre + half)];
    select(ends[0] <= times[0] && ends[1] >= times[times.length - 1] ? null : ends);
  }

  // The address keeps the marked crawl and the selected crawls, so that a link to them can be sent.
  let waiting = null;
  function remember() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const { times, labels } = crawls;
      const parts = [["crawl", labels[nearest(times, state.at)]]];
      if (state.range !== null) parts.push(["from", labels[times.indexOf(state.range[0])]], ["to", labels[times.indexOf(state.range[1])]]);
      history.replaceState(null, "", `#${new URLSearchParams(parts)}`);
    }, 400);
  }

  function restore() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const { times, labels } = crawls;
    const time = (name) => times[labels.indexOf(asked.get(name))];
    if (time("crawl") !== undefined) mark(time("crawl"));
    if (time("from") !== undefined && time("to") !== undefined) select([time("from"), time("to")]);
  }

  for (const links of document.querySelectorAll(".downloads")) {
    const image = links.closest("figure").querySelector("img");
    const attributes = { href: image.src, download: links.dataset.file, class: "download", "aria-label": `PNG of ${image.alt}` };
    links.prepend(element("a", links, "PNG", attributes), " ");
  }
  const notice = element("div", document.querySelector("main"), "", { class: "range", role: "status" });
  notice.hidden = true;
  const noticeText = element("span", notice);
  element("button", notice, "All crawls", { type: "button" }).addEventListener("click", () => select(null));
  hosts[0].before(element("p", hosts[0].parentElement, HELP, { id: "chart-help", class: "help" }));
  for (const host of hosts) {
    const figure = host.nextElementSibling;
    if (figure && figure.tagName === "FIGURE") figure.classList.add("replaced");
    charts.push(new Chart(host));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.draw()));
  restore();
})();
