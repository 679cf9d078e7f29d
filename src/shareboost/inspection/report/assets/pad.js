/** The drawing pad: strokes, what the exported model says of them, and why. */

import { channelsOf, keepDrawn, paint } from "./drawing.js";
import { byId, counted, element } from "./elements.js";
import { forgetFired, tellFired } from "./fired.js";
import { coverageOf } from "./strokes.js";

const PEN_STEP = 0.025; // of the pad, by a press of a key

export class Pad {
  /**
   * @param {import("./report.js").Report} report
   * @param {object} model - The functions of the exported model.
   */
  constructor(report, model) {
    this.report = report;
    this.exported = model;
    this.strokes = [];
    this.pen = { x: 0.5, y: 0.5, isDown: false, isUsed: false };
    this.canvas = byId("pad");
    byId("draw").hidden = false;
    this.used = counted(report.model(report.chosen).nFeatures, "feature");
    byId("draw-note").textContent =
      `The model of ${this.used} itself runs in this page, as exported to JavaScript: ` +
      "what you draw goes nowhere. It does not follow the slider.";
    const pointer = {
      pointerdown: "begin",
      pointermove: "go",
      pointerup: "end",
      pointercancel: "end",
    };
    for (const [event, what] of Object.entries(pointer))
      this.canvas.addEventListener(event, (e) => this[what](e));
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    byId("pad-clear").addEventListener("click", () => this.clear());
    byId("pad-undo").addEventListener("click", () => this.undo());
    this.bars = report.classes.map(() => element("span", { class: "bar" }));
    this.numbers = report.classes.map(() => element("td", { class: "number" }, "–"));
    this.lines = report.classes.map((name, q) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, name),
        this.numbers[q],
        element(
          "td",
          { class: "wide", "aria-hidden": "true" },
          element("span", { class: "track" }, this.bars[q]),
        ),
      ),
    );
    byId("scores").append(element("tbody", {}, ...this.lines));
    keepDrawn(this.canvas, () => this.draw());
    this.clear();
  }

  /** Where a pointer is, in shares of the pad. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
  }

  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pen.isUsed = false;
    this.drawing = true;
    this.strokes.push([this.place(event)]);
    this.update();
  }

  go(event) {
    if (!this.drawing) return;
    const events = event.getCoalescedEvents?.() ?? [];
    this.strokes.at(-1).push(...(events.length ? events : [event]).map((one) => this.place(one)));
    this.update();
  }

  end() {
    this.drawing = false;
  }

  press(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
      event.key
    ];
    const { pen } = this;
    if (step) {
      const moved = (value, by) => Math.min(0.97, Math.max(0.03, value + by * PEN_STEP));
      Object.assign(pen, { x: moved(pen.x, step[0]), y: moved(pen.y, step[1]), isUsed: true });
      if (pen.isDown) this.strokes.at(-1).push({ x: pen.x, y: pen.y });
    } else if (event.key === " ") {
      Object.assign(pen, { isDown: !pen.isDown, isUsed: true });
      if (pen.isDown) this.strokes.push([{ x: pen.x, y: pen.y }]);
    } else if (event.key === "Backspace") this.undo();
    else if (event.key === "Escape" || event.key === "Delete") this.clear();
    else return;
    event.preventDefault();
    this.update();
  }

  undo() {
    this.strokes.pop();
    this.lift();
    this.update();
  }

  clear() {
    this.strokes = [];
    this.lift();
    this.update();
  }

  /** End the stroke that keys or a pointer are drawing, which is there no more. */
  lift() {
    this.pen.isDown = false;
    this.drawing = false;
  }

  /** Show an image that is not drawn here. */
  explain(row) {
    this.clear();
    this.classify(row);
    byId("draw").scrollIntoView();
  }

  /** Show what was drawn; classify it once a frame, however many points came. */
  update() {
    this.draw();
    if (!this.strokes.length) {
      this.forget();
      return;
    }
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      if (this.strokes.length) this.classify(this.rowOfStrokes());
    });
  }

  /** What was drawn, as a row like those that the model was trained on. */
  rowOfStrokes() {
    const { shape, strokes: style } = this.report.images;
    const coverage = coverageOf(this.strokes, style, shape[0], shape[1]);
    return coverage.map((share) => style.paper + share * (style.ink - style.paper));
  }

  /** Draw the strokes, and the pen where keys move it. */
  draw() {
    const context = this.canvas.getContext("2d");
    const { width, height } = this.canvas;
    const { box, width: pen } = this.report.images.strokes;
    const colours = ["paper", "ink", "for"].map((name) => `rgb(${channelsOf(name).join(" ")})`);
    context.fillStyle = colours[0];
    context.fillRect(0, 0, width, height);
    Object.assign(context, {
      lineWidth: (0.75 * width * pen) / box,
      lineCap: "round",
      lineJoin: "round",
      strokeStyle: colours[1],
    });
    for (const stroke of this.strokes) {
      context.beginPath();
      for (const { x, y } of [...stroke, stroke.at(-1)]) context.lineTo(x * width, y * height);
      context.stroke();
    }
    if (!this.pen.isUsed) return;
    Object.assign(context, { lineWidth: 4, strokeStyle: colours[2], fillStyle: colours[2] });
    context.beginPath();
    context.arc(this.pen.x * width, this.pen.y * height, 12, 0, 7);
    if (this.pen.isDown) context.fill();
    else context.stroke();
  }

  forget() {
    const [height, width] = this.report.images.shape;
    keepDrawn(byId("seen"), () =>
      paint(byId("seen"), new Float32Array(height * width), height, width),
    );
    byId("verdict").textContent = "Nothing drawn yet.";
    this.numbers.forEach((number) => (number.textContent = "–"));
    this.bars.forEach((bar) => (bar.style.width = "0"));
    this.lines.forEach((line) => line.classList.remove("best"));
    forgetFired();
  }

  classify(row) {
    const [height, width] = this.report.images.shape;
    const { paper, ink } = this.report.images.strokes;
    const shares = Float64Array.from(row, (value) => (value - paper) / (ink - paper));
    keepDrawn(byId("seen"), () => paint(byId("seen"), shares, height, width));
    const scores = this.exported.scores(row);
    const [low, high] = [Math.min(...scores), Math.max(...scores)];
    const best = scores.indexOf(high); // the first of equals, as in Python
    scores.forEach((score, q) => {
      this.numbers[q].textContent = score.toFixed(1).replace("-", "−");
      this.bars[q].style.width = `${(100 * (score - low)) / (high - low || 1)}%`;
      this.lines[q].classList.toggle("best", q === best);
    });
    const name = this.report.classes[best];
    byId("verdict").replaceChildren(
      `The model of ${this.used} takes it for `,
      element("strong", {}, name),
      ".",
    );
    tellFired(this.report, row, shares, this.exported.contributions(row, best), name);
  }
}
