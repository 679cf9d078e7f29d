/** The heat map of weights, features across and classes down. */

import { channelsOf, keepDrawn } from "./drawing.js";
import { byId, colour, element, short } from "./elements.js";

const CELL_HEIGHT = 24;
const LEAST_WIDTH = 4;
const MOST_WIDTH = 36;
const FOOT = 22; // for the rounds, below
const LABEL_ROOM = 34;

export class Sharing {
  /** @param {import("./report.js").Report} report */
  constructor(report) {
    this.report = report;
    this.at = null; // [feature, class] that is read out
    this.canvas = byId("heat");
    byId("heat-classes").append(
      ...report.classes.map((name) => element("span", { title: name }, name)),
    );
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.read(null));
    this.canvas.addEventListener("blur", () => this.read(null));
    this.canvas.addEventListener("focus", () => this.read(this.at ?? [0, 0]));
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.model && this.draw()).observe(byId("heat-scroll"));
  }

  show(model) {
    this.model = model;
    if (this.at && this.at[0] >= model.nFeatures) this.at = null;
    keepDrawn(this.canvas, () => this.draw());
    this.read(this.at);
  }

  draw() {
    const { k } = this.report;
    const { nFeatures, weights } = this.model;
    const room = byId("heat-scroll").clientWidth / Math.max(1, nFeatures);
    this.cell = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, room));
    const [width, height] = [Math.max(1, this.cell * nFeatures), CELL_HEIGHT * k + FOOT];
    const sharp = Math.min(3, window.devicePixelRatio || 1);
    Object.assign(this.canvas, {
      width: Math.round(width * sharp),
      height: Math.round(height * sharp),
    });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const context = this.canvas.getContext("2d");
    context.scale(sharp, sharp);
    const [page, speaksFor, against] = ["page", "for", "against"].map(channelsOf);
    const largest = weights.reduce((most, w) => Math.max(most, Math.abs(w)), 0) || 1;
    const gap = this.cell > 10 ? 1 : 0;
    for (let i = 0; i < nFeatures; i++) {
      for (let q = 0; q < k; q++) {
        const weight = weights[i * k + q];
        const share = Math.sqrt(Math.abs(weight) / largest); // the small ones are seen too
        const full = weight > 0 ? speaksFor : against;
        const mixed = page.map((c, j) => Math.round(c + share * (full[j] - c)));
        context.fillStyle = `rgb(${mixed.join(" ")})`;
        context.fillRect(
          i * this.cell,
          q * CELL_HEIGHT,
          this.cell - gap + (gap ? 0 : 0.5),
          CELL_HEIGHT - 1,
        );
      }
    }
    this.rounds(context);
    if (this.at) this.outline(context);
  }

  /** Number the features by their rounds, as many of them as there is room for. */
  rounds(context) {
    const every = Math.ceil(LABEL_ROOM / this.cell / 5) * (this.cell < LABEL_ROOM / 2 ? 5 : 1);
    Object.assign(context, {
      fillStyle: colour("muted"),
      font: `12px ${colour("sans")}`,
      textAlign: "center",
    });
    this.model.features.forEach((place, i) => {
      if (i === 0 || (i + 1) % every === 0) {
        const x = Math.max(8, (i + 0.5) * this.cell);
        context.fillText(
          this.report.features[place].round,
          x,
          CELL_HEIGHT * this.report.k + FOOT - 6,
        );
      }
    });
  }

  outline(context) {
    const [i, q] = this.at;
    context.strokeStyle = `rgb(${channelsOf("ink").join(" ")})`;
    context.lineWidth = 2;
    context.strokeRect(i * this.cell, q * CELL_HEIGHT, Math.max(this.cell - 1, 3), CELL_HEIGHT - 1);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    this.read(
      this.within(
        Math.floor((event.clientX - box.left) / this.cell),
        Math.floor((event.clientY - box.top) / CELL_HEIGHT),
      ),
    );
  }

  press(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
      event.key
    ];
    if (!step) return;
    event.preventDefault();
    const [i, q] = this.at ?? [0, 0];
    this.read(this.within(i + step[0], q + step[1]));
  }

  within(i, q) {
    const clipped = (value, n) => Math.min(n - 1, Math.max(0, value));
    return [clipped(i, this.model.nFeatures), clipped(q, this.report.k)];
  }

  /** Tell one weight in words. */
  read(at) {
    const { k, classes, features } = this.report;
    this.at = this.model.nFeatures ? at : null;
    this.draw();
    const line = byId("heat-now");
    if (!this.at) {
      line.textContent = "";
      return;
    }
    const [i, q] = this.at;
    const feature = features[this.model.features[i]];
    const weight = this.model.weights[i * k + q];
    const says = weight === 0 ? "says nothing of" : weight > 0 ? "speaks for" : "speaks against";
    const who = `${feature.name} (round ${feature.round})`;
    line.textContent = `${who} ${says} ${classes[q]}: ${short(weight)}`;
  }
}
