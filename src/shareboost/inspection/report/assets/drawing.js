/** Draws images and templates on canvases. */

import { colour } from "./elements.js";
import { signedBytes } from "./report.js";

/** Red, green and blue of a colour of the style, given as #rrggbb. */
export function channelsOf(name) {
  const hex = colour(name);
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/**
 * Draw numbers as a picture, a pixel each: 0 in the colour of paper, 1 in that of ink, and
 * nothing for NaN.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>} values - Row by row.
 */
export function paint(canvas, values, height, width) {
  canvas.width = width;
  canvas.height = height;
  const [paper, ink] = [channelsOf("paper"), channelsOf("ink")];
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) continue;
    const share = Math.min(1, Math.max(0, values[i]));
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = paper[c] + share * (ink[c] - paper[c]);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/** An image of several channels as numbers from 0 to 1: the largest of its channels. */
export function greyOf(pixels, start, [height, width, channels]) {
  const grey = new Float32Array(height * width);
  for (let i = 0; i < grey.length; i++) {
    for (let c = 0; c < channels; c++)
      grey[i] = Math.max(grey[i], pixels[start + i * channels + c] / 255);
  }
  return grey;
}

/** A template as numbers from 0 to 1, a half at zero, its channels in a grid. */
export function templatePicture(template) {
  const [rows, columns, channels] = template.size;
  const codes = signedBytes(template.codes);
  const wide = Math.ceil(Math.sqrt(channels));
  const high = Math.ceil(channels / wide);
  const [height, width] = [high * (rows + 1) - 1, wide * (columns + 1) - 1];
  const values = new Float32Array(height * width).fill(NaN);
  for (let c = 0; c < channels; c++) {
    const [top, left] = [Math.floor(c / wide) * (rows + 1), (c % wide) * (columns + 1)];
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        values[(top + i) * width + left + j] = 0.5 + codes[(i * columns + j) * channels + c] / 254;
      }
    }
  }
  return { values, height, width };
}

/** A mask as numbers from 0 to 1, at most so many pixels high and wide. */
export function maskPicture(down, across) {
  const largest = Math.max(...down) * Math.max(...across) || 1;
  const values = Float32Array.from(
    { length: down.length * across.length },
    (_, i) => (down[Math.floor(i / across.length)] * across[i % across.length]) / largest,
  );
  return { values, height: down.length, width: across.length };
}

/** Canvases that are drawn again when colours change, on the page or kept for it. */
const drawings = new Set();

/** Draw on a canvas now, and again whenever colours change. */
export function keepDrawn(canvas, draw) {
  if (!canvas.redraw) drawings.add(new WeakRef(canvas));
  canvas.redraw = draw;
  draw();
}

/** Draw everything anew. */
export function redrawAll() {
  for (const drawing of drawings) {
    const canvas = drawing.deref();
    if (canvas) canvas.redraw();
    else drawings.delete(drawing);
  }
}

/** A canvas that shows a picture, described in words. */
export function pictureCanvas(picture, label) {
  const canvas = document.createElement("canvas");
  canvas.className = "picture";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  keepDrawn(canvas, () => paint(canvas, picture.values, picture.height, picture.width));
  return canvas;
}
