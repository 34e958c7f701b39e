"use strict";
// What the page knows: the rows of its files, their groups, and how all of it is written.

const PAGE = JSON.parse(document.getElementById("data").textContent);

// The orders of lists in the data.
const ROW = ["name", "role", "type", "format", "encoding", "shape", "part", "offset", "stored", "decoded", "digest", "values", "attributes"];
const VALUES = ["count", "min", "max", "mean", "std", "zero", "nan", "infinite", "histogram"];

// Characters that would turn, hide or move a text.
const HARMFUL = /[\\\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function named(keys, list) {
  return Object.fromEntries(keys.map((key, at) => [key, list[at]]));
}

// A name from a file as zt ls shows it.
function clean(name) {
  if (name === "") return '""';
  return name.replace(HARMFUL, c => c === "\\" ? "\\\\" : "\\u{" + c.codePointAt(0).toString(16) + "}");
}

function size(bytes) {
  if (bytes === null) return "?";
  let value = Number(bytes), unit = -1;
  if (value < 1024) return value + " B";
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  while (value >= 1023.95 && unit + 1 < units.length) { value /= 1024; unit++; }
  return value.toFixed(1) + " " + units[unit];
}

function many(number) {
  return Number(number).toLocaleString("en-US");
}

function plural(number, noun) {
  return many(number) + " " + noun + (number === 1 ? "" : "s");
}

function percent(part, whole) {
  return (whole > 0 ? part / whole * 100 : 0).toFixed(1) + " %";
}

// Some six digits.
function number(value) {
  if (value === null || value === undefined) return "";
  const magnitude = Math.abs(value);
  if (value === 0 || magnitude >= 1e-4 && magnitude < 1e7) return String(Number(value.toPrecision(6)));
  return value.toExponential(4).replace(/\.?0+e/, "e").replace("e+", "e");
}

// The greatest power of two up to 2 MiB that divides an offset.
function alignment(offset) {
  let value = BigInt(offset), result = 1n;
  while (result < 1n << 21n && value % (result * 2n) === 0n) result *= 2n;
  return Number(result);
}

function alignmentClass(bytes) {
  if (bytes >= 4096) return "4 KiB and more";
  if (bytes >= 64) return "64 bytes and more";
  return bytes >= 8 ? "8 to 32 bytes" : "less than 8 bytes";
}

// Numbers in a name sort by their value.
function sortable(name) {
  return name.replace(/\d+/g, digits => digits.padStart(12, "0"));
}

// By what tensors are put into groups, coloured and chosen.
const FACETS = [
  { key: "type", title: "Type" },
  { key: "encoding", title: "Encoding" },
  { key: "digestKind", title: "Digest" },
  { key: "alignmentClass", title: "Alignment" },
];

function prepare(file) {
  const text = at => at === null ? null : clean(file.texts[at]);
  const counts = new Map();
  const rows = file.rows.map((list, index) => {
    const row = named(ROW, list);
    row.index = index;
    row.name = clean(row.name);
    for (const key of ["role", "type", "format", "encoding"]) row[key] = text(row[key]);
    row.title = row.role === null ? row.name : row.name + " (" + row.role + ")";
    row.lower = row.title.toLowerCase();
    row.sortable = sortable(row.lower);
    row.bytes = Number(row.stored);
    row.alignment = alignment(row.offset);
    row.alignmentClass = alignmentClass(row.alignment);
    row.digest = row.digest === null ? null : clean(row.digest);
    row.digestKind = row.digest === null ? "none" : row.digest.split(":")[0].slice(0, 40);
    row.values = row.values === null ? null : named(VALUES, row.values);
    row.elements = row.shape.reduce((product, dimension) => product * Number(dimension), 1);
    counts.set(row.name, (counts.get(row.name) || 0) + 1);
    return row;
  });
  const result = { ...file, rows, bytes: 0, decoded: 0, elements: 0, facets: {} };
  for (const row of rows) {
    result.bytes += row.bytes;
    result.decoded = row.decoded === null || result.decoded === null ? null : result.decoded + Number(row.decoded);
    // Indices and scales are no parameters of their own.
    if (row.role === null || row.role === "data" || row.role === "values") result.elements += row.elements;
  }
  for (const { key } of FACETS) {
    const groups = new Map();
    for (const row of rows) {
      const group = groups.get(row[key]) || { value: row[key], bytes: 0, count: 0 };
      group.bytes += row.bytes;
      group.count++;
      groups.set(row[key], group);
    }
    result.facets[key] = [...groups.values()].sort((a, b) => b.bytes - a.bytes || b.count - a.count);
  }
  return result;
}

// Ten hues that differ; what comes after them is grey. What has more bytes chooses first, over all files.
const HUES = [255, 150, 65, 20, 310, 195, 105, 285, 345, 225];
const colours = new Map();

function assignColours(files) {
  for (const { key } of FACETS) {
    const bytes = new Map();
    for (const file of files) {
      for (const group of file.facets[key]) bytes.set(group.value, (bytes.get(group.value) || 0) + group.bytes);
    }
    [...bytes].sort((a, b) => b[1] - a[1]).forEach(([value], at) => {
      const hue = at < HUES.length ? "0.115 " + HUES[at] : "0 0";
      colours.set(key + "\n" + value, `light-dark(oklch(0.8 ${hue}), oklch(0.72 ${hue}))`);
    });
  }
}

function colourOf(key, value) {
  return colours.get(key + "\n" + value);
}

// Elements of the page. Texts are only ever texts.
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key in element && key !== "role") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function swatch(key, value) {
  const mark = make("i");
  mark.style.background = colourOf(key, value);
  return mark;
}

// Bars of a histogram, in a box of so many points.
function histogram(counts, width, height) {
  const svg = document.getElementById("bars").cloneNode(true);
  svg.removeAttribute("id");
  svg.removeAttribute("hidden");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  const most = Math.max(...counts, 1), step = width / counts.length;
  svg.firstChild.setAttribute("d", counts.map((count, at) => {
    if (count === 0) return "";
    const tall = Math.max(count / most * height, 0.8);
    return `M${(at * step).toFixed(2)} ${height}v${-tall.toFixed(2)}h${Math.max(step - 0.4, 0.6).toFixed(2)}V${height}z`;
  }).join(""));
  return svg;
}
