/** Turns strokes into an image like those that the model was trained on. */

const SHARP = 6; // canvas pixels a pixel of the image, each way

/**
 * The coverage by ink of every pixel, from 0 to 1, row by row.
 *
 * The strokes are scaled, as they are, until the box about their ink has the size that is usual,
 * drawn with the usual width, and centred by their mass or by their box.
 *
 * @param {{x: number, y: number}[][]} strokes - In any unit.
 * @param {{box: number, width: number, centre: number[], by_mass: boolean}} style
 */
export function coverageOf(strokes, style, height, width) {
  const points = strokes.flat();
  const [left, right] = range(points.map((point) => point.x));
  const [top, bottom] = range(points.map((point) => point.y));
  const extent = Math.max(right - left, bottom - top);
  const box = Math.min(style.box, Math.max(height, width));
  const scale = extent > 0 ? Math.max(0, box - style.width) / extent : 0;
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  const [row, column] = style.centre;
  let shift = { x: column + 0.5, y: row + 0.5 };
  let found = drawn(strokes, middle, scale, shift, style.width, height, width);
  if (style.by_mass) {
    const mass = centreOfMass(found, width);
    shift = { x: shift.x + column - mass.x, y: shift.y + row - mass.y };
    found = drawn(strokes, middle, scale, shift, style.width, height, width);
  }
  return found;
}

function drawn(strokes, middle, scale, shift, lineWidth, height, width) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: width * SHARP, height: height * SHARP });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  Object.assign(context, { lineWidth: lineWidth * SHARP, lineCap: "round", lineJoin: "round" });
  for (const stroke of strokes) {
    context.beginPath();
    for (const [i, { x, y }] of [...stroke, stroke.at(-1)].entries()) {
      const place = [
        SHARP * (shift.x + scale * (x - middle.x)),
        SHARP * (shift.y + scale * (y - middle.y)),
      ];
      if (i) context.lineTo(...place);
      else context.moveTo(...place);
    }
    context.stroke();
  }
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const found = new Float64Array(height * width);
  for (let i = 0; i < canvas.height; i++) {
    for (let j = 0; j < canvas.width; j++) {
      const pixel = Math.floor(i / SHARP) * width + Math.floor(j / SHARP);
      found[pixel] += data[4 * (i * canvas.width + j) + 3] / (255 * SHARP * SHARP);
    }
  }
  return found;
}

function centreOfMass(coverage, width) {
  let [total, x, y] = [0, 0, 0];
  coverage.forEach((share, i) => {
    total += share;
    x += share * (i % width);
    y += share * Math.floor(i / width);
  });
  return { x: x / total, y: y / total };
}

function range(values) {
  return [Math.min(...values), Math.max(...values)];
}
