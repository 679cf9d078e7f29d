/** The curve of held-out error against the number of features. */

import { byId, count, counted, element, percent, svgElement } from "./elements.js";

const MARGIN = { top: 14, right: 18, bottom: 44, left: 58 };
const HEIGHT = 320;
const ZERO_GAP = 24; // from no error up to the smallest that a logarithmic scale shows
const NO_ERROR = 1e-12;

export class Curve {
  /**
   * @param {import("./report.js").Report} report
   * @param {(index: number) => void} choose - Called with the place of a model that is clicked.
   */
  constructor(report, choose) {
    this.report = report;
    this.choose = choose;
    this.index = report.chosen;
    this.hovered = null;
    const { error, n_features: n } = report.models;
    const positive = error.filter((e) => e > 0);
    byId("log").checked = Math.max(...error) > 8 * Math.min(...positive, 1);
    byId("log").addEventListener("change", () => this.draw());
    const hasTrain = report.models.train_error.some((e) => e !== null);
    byId("legend").append(
      key("held-out", "held-out error, 95% interval shaded"),
      ...(hasTrain ? [key("train", "training error")] : []),
    );
    this.svg = svgElement("svg", {
      role: "img",
      "aria-label": `Held-out error ${summary(error, n)}. The slider reads it out.`,
    });
    this.tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    byId("chart").append(this.svg, this.tip);
    this.svg.addEventListener("pointermove", (event) => this.hover(event));
    this.svg.addEventListener("pointerleave", () => this.hover(null));
    this.svg.addEventListener("click", (event) => this.choose(this.nearest(event)));
    new ResizeObserver(() => this.draw()).observe(byId("chart"));
  }

  /** Move the mark to a model. */
  show(index) {
    this.index = index;
    this.draw();
  }

  draw() {
    const { n_features: n, error, interval, train_error: train } = this.report.models;
    this.width = Math.max(280, byId("chart").clientWidth);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.svg.replaceChildren();
    this.setScales();
    this.axes();
    const places = [...n.keys()];
    const upper = places.map((i) => `${this.x(n[i])},${this.y(interval[i][1])}`);
    const lower = places.map((i) => `${this.x(n[i])},${this.y(interval[i][0])}`).reverse();
    this.add("polygon", { class: "band", points: [...upper, ...lower].join(" ") });
    const line = (values) => values.map((e, i) => `${this.x(n[i])},${this.y(e)}`).join(" ");
    if (train[0] !== null) this.add("polyline", { class: "train", points: line(train) });
    this.add("polyline", { class: "held-out", points: line(error) });
    const at = (i, kind) => {
      this.add("line", {
        class: `${kind} rule`,
        x1: this.x(n[i]),
        x2: this.x(n[i]),
        y1: MARGIN.top,
        y2: HEIGHT - MARGIN.bottom,
      });
      this.add("circle", {
        class: kind,
        cx: this.x(n[i]),
        cy: this.y(error[i]),
        r: kind === "mark" ? 6 : 4,
      });
    };
    if (this.hovered !== null && this.hovered !== this.index) at(this.hovered, "ghost");
    at(this.index, "mark");
  }

  setScales() {
    const { n_features: n, error, train_error: train, interval } = this.report.models;
    const right = this.width - MARGIN.right;
    const bottom = HEIGHT - MARGIN.bottom;
    const last = Math.max(...n, 1);
    const first = Math.min(...n, last - 1);
    this.x = (t) => MARGIN.left + ((t - first) / (last - first)) * (right - MARGIN.left);
    this.first = first;
    this.last = last;
    this.logarithmic = byId("log").checked;
    const most = Math.min(
      1,
      Math.max(...error, ...train.filter((e) => e !== null), interval[0][1]),
    );
    const shown = error.filter((e) => e > 0);
    // Training errors may go below.
    const least = this.logarithmic ? Math.min(...shown, most) / 1.6 : 0;
    this.low = least;
    const isNone = (e) => e !== null && e < NO_ERROR;
    this.hasZero = this.logarithmic && [...error, ...train].some(isNone);
    this.floor = this.hasZero ? bottom - ZERO_GAP : bottom; // of the logarithms
    this.high = this.logarithmic ? most * 1.1 : most * 1.05;
    const scale = this.logarithmic ? (e) => Math.log(Math.max(e, least)) : (e) => e;
    const [a, b] = [scale(this.low), scale(this.high)];
    this.y = (e) =>
      this.hasZero && isNone(e)
        ? bottom
        : this.floor - ((scale(e) - a) / (b - a)) * (this.floor - MARGIN.top);
  }

  axes() {
    const bottom = HEIGHT - MARGIN.bottom;
    const right = this.width - MARGIN.right;
    const ticks = this.logarithmic
      ? [...(this.hasZero ? [0] : []), ...logarithmicTicks(this.low, this.high)]
      : linearTicks(0, this.high, 5);
    if (this.hasZero)
      this.add("line", {
        class: "break",
        x1: MARGIN.left,
        x2: right,
        y1: this.floor,
        y2: this.floor,
      });
    for (const tick of ticks) {
      const y = this.y(tick);
      this.add("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y, y2: y });
      this.add(
        "text",
        { class: "tick", x: MARGIN.left - 10, y: y + 4, "text-anchor": "end" },
        plainPercent(tick),
      );
    }
    for (const tick of linearTicks(this.first, this.last, this.width / 90).filter(
      Number.isInteger,
    )) {
      this.add(
        "text",
        { class: "tick", x: this.x(tick), y: bottom + 20, "text-anchor": "middle" },
        count(tick),
      );
    }
    this.add("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom });
    this.add(
      "text",
      { class: "title", x: (MARGIN.left + right) / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      "number of features",
    );
    this.add(
      "text",
      {
        class: "title",
        x: 0,
        y: 0,
        "text-anchor": "middle",
        transform: `translate(13 ${(MARGIN.top + bottom) / 2}) rotate(-90)`,
      },
      "error",
    );
  }

  add(name, attributes, ...children) {
    this.svg.append(svgElement(name, attributes, ...children));
  }

  /** The place of the model nearest to a pointer. */
  nearest(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.width;
    const n = this.report.models.n_features;
    return n.reduce(
      (best, t, i) => (Math.abs(this.x(t) - x) < Math.abs(this.x(n[best]) - x) ? i : best),
      0,
    );
  }

  hover(event) {
    this.hovered = event && this.nearest(event);
    this.tip.hidden = this.hovered === null;
    this.draw();
    if (this.hovered === null) return;
    const { n_features: n, error, interval } = this.report.models;
    const i = this.hovered;
    this.tip.replaceChildren(
      element("strong", {}, percent(error[i])),
      ` with ${counted(n[i], "feature")}`,
      element("br"),
      `${percent(interval[i][0])} to ${percent(interval[i][1])}`,
    );
    const share = this.svg.getBoundingClientRect().width / this.width;
    const x = this.x(n[i]) * share;
    const left =
      x + 14 + this.tip.offsetWidth > this.width * share ? x - 14 - this.tip.offsetWidth : x + 14;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${Math.max(0, this.y(error[i]) * share - this.tip.offsetHeight - 12)}px`;
  }
}

/** What the curve does from its first model to its last, in words. */
function summary(error, n) {
  const [first, last] = [percent(error[0]), percent(error.at(-1))];
  const [few, many] = [counted(n[0], "feature"), counted(n.at(-1), "feature")];
  if (error.length === 1) return `is ${last} with ${many}`;
  if (error.at(-1) === error[0]) return `is ${last} with ${few} and with ${many}`;
  const does = error.at(-1) < error[0] ? "falls" : "rises";
  return `${does} from ${first} with ${few} to ${last} with ${many}`;
}

function key(kind, text) {
  const line = svgElement("line", { class: kind, x1: 0, x2: 26, y1: 5, y2: 5 });
  return element(
    "span",
    {},
    svgElement("svg", { class: "key", width: 26, height: 10, "aria-hidden": "true" }, line),
    text,
  );
}

/** Round numbers from a to b, about so many. */
function linearTicks(a, b, n) {
  const rough = (b - a) / Math.max(1, n) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
  const ticks = [];
  for (let i = Math.ceil(a / step); i * step <= b * (1 + 1e-9); i++)
    ticks.push(+(i * step).toPrecision(12));
  return ticks;
}

/** 1, 2 and 5 times powers of ten; fewer where there would be many. */
function logarithmicTicks(a, b) {
  const found = [];
  const steps = b / a > 300 ? [1] : b / a > 30 ? [1, 3] : [1, 2, 5];
  for (let p = Math.floor(Math.log10(a)); p <= Math.log10(b); p++) {
    found.push(...steps.map((m) => +(m * 10 ** p).toPrecision(12)));
  }
  return found.filter((tick) => tick >= a && tick <= b);
}

function plainPercent(share) {
  return `${+(100 * share).toPrecision(3)}%`;
}
