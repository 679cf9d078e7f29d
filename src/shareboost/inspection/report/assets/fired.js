/** The features that decide what a drawing is taken for, and where in it they match. */

import {
  channelsOf,
  keepDrawn,
  maskPicture,
  paint,
  pictureCanvas,
  templatePicture,
} from "./drawing.js";
import { byId, element, short } from "./elements.js";
import { signedBytes } from "./report.js";

const MOST_FIRED = 8;

/**
 * Show the features that add the most to the score of a class, or take the most from it.
 *
 * @param {import("./report.js").Report} report
 * @param {ArrayLike<number>} row - What is classified.
 * @param {ArrayLike<number>} shares - The same from 0, paper, to 1, ink.
 * @param {Float64Array} columns - What each column of the model adds to the score.
 * @param {string} name - Of the class.
 */
export function tellFired(report, row, shares, columns, name) {
  let start = 0;
  const added = report.model(report.chosen).features.map((place) => {
    const stop = start + report.features[place].n_columns;
    const sum = columns.subarray(start, stop).reduce((total, value) => total + value, 0);
    start = stop;
    return { place, sum };
  });
  added.sort((a, b) => Math.abs(b.sum) - Math.abs(a.sum));
  byId("fired-note").textContent =
    `What moves the score of ${name} the most. ` +
    "The frame is where in the drawing the template matches best.";
  const tiles = added.slice(0, MOST_FIRED).map((one) => firedTile(report, one, row, shares));
  byId("fired").replaceChildren(...tiles);
}

/** Show that nothing is drawn. */
export function forgetFired() {
  byId("fired").replaceChildren();
  byId("fired-note").textContent =
    "Draw something, and the features that move the score of its class the most are shown here.";
}

function firedTile({ images, features }, { place, sum }, row, shares) {
  const template = images.templates.find((one) => one.feature === place);
  const pictures = element("span", { class: "pictures" });
  if (template) {
    const mask = [images.down[template.down], images.across[template.across]];
    const found = bestPlace(row, images.shape, template, ...mask);
    pictures.append(
      pictureCanvas(templatePicture(template), "Template"),
      pictureCanvas(maskPicture(...mask), "Mask"),
      matchCanvas(shares, images.shape, template, found),
    );
  }
  const kind = sum >= 0 ? "for" : "against";
  const number = element("strong", { class: kind }, `${sum >= 0 ? "+" : ""}${short(sum)}`);
  const caption = element("span", { class: "caption" }, number, ` ${features[place].name}`);
  return element("li", {}, pictures, caption);
}

/** Where a template matches best under its mask: its top left pixel. */
function bestPlace(row, [, width, channels], template, down, across) {
  const [rows, columns] = template.size;
  const codes = signedBytes(template.codes);
  let best = { value: -Infinity, y: 0, x: 0 };
  for (let y = 0; y < down.length; y++) {
    for (let x = 0; x < across.length; x++) {
      let sum = 0;
      for (let i = 0; i < rows; i++) {
        const from = ((y + i) * width + x) * channels;
        const own = i * columns * channels;
        for (let j = 0; j < columns * channels; j++) sum += codes[own + j] * row[from + j];
      }
      const value = sum * down[y] * across[x];
      if (value > best.value) best = { value, y, x };
    }
  }
  return best;
}

/** The drawing with a frame about where a template matches. */
function matchCanvas(shares, [height, width], template, found) {
  const frame = document.createElement("canvas");
  frame.className = "picture";
  frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", `Matches ${found.y} down, ${found.x} across`);
  const zoom = Math.max(1, Math.round(112 / Math.max(height, width)));
  keepDrawn(frame, () => {
    const small = document.createElement("canvas");
    paint(small, shares, height, width);
    Object.assign(frame, { width: width * zoom, height: height * zoom });
    const context = frame.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, frame.width, frame.height);
    context.strokeStyle = `rgb(${channelsOf("against").join(" ")})`;
    context.lineWidth = Math.max(2, zoom / 2);
    context.strokeRect(
      found.x * zoom,
      found.y * zoom,
      template.size[1] * zoom,
      template.size[0] * zoom,
    );
  });
  return frame;
}
