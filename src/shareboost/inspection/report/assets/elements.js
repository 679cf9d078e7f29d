/** Makes elements; whatever is given as text stays text. */

/**
 * An element with attributes and children.
 *
 * @param {string} name
 * @param {Record<string, string | number | boolean | undefined>} [attributes]
 * @param {...(Node | string | number)} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  return dressed(document.createElement(name), attributes, children);
}

/** The same for drawings. */
export function svgElement(name, attributes = {}, ...children) {
  return dressed(
    document.createElementNS("http://www.w3.org/2000/svg", name),
    attributes,
    children,
  );
}

function dressed(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** The element of an id, which the page has. */
export function byId(id) {
  return document.getElementById(id);
}

const whole = new Intl.NumberFormat("en");

/** An integer with its thousands apart. */
export function count(n) {
  return whole.format(n);
}

/** "1 feature", "2 features". */
export function counted(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A share in percent, with as many decimals as it needs to be told from others. */
export function percent(share) {
  const value = 100 * share;
  return value === 0 ? "0%" : `${value.toFixed(value >= 9.95 ? 1 : 2)}%`;
}

/** A number to a few significant digits. */
export function short(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-4 ? value.toExponential(1) : value.toPrecision(3);
  return text.replace("-", "−");
}

/** Bytes in the unit that suits them. */
export function bytes(n) {
  if (n < 1024) return `${n} B`;
  const kilo = n / 1024;
  return kilo < 1024 ? `${kilo.toFixed(kilo < 10 ? 1 : 0)} KiB` : `${(kilo / 1024).toFixed(1)} MiB`;
}

/** The value of one of the style's variables. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
