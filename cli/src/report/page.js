// The page: its parts, and what is chosen in one of them and seen in the others.

const by = id => document.getElementById(id);
const files = PAGE.files.map(prepare);
assignColours(files);
const state = { file: files[0], text: "", prefix: "", facets: {} };

// Of a column that says something of some rows alone, `tells` says whether it does of one.
const typed = row => make("span", { className: "type" }, swatch("type", row.type), row.type);
const COLUMNS = [
  { title: "Name", width: "minmax(220px, 3fr)", least: 220, mono: true, value: row => row.sortable, cell: row => row.title },
  { title: "Type", width: "minmax(80px, 1fr)", least: 80, value: row => row.type, cell: typed },
  { title: "Shape", width: "minmax(110px, 1fr)", least: 110, mono: true, value: row => row.elements, cell: row => "[" + row.shape.join(", ") + "]" },
  { title: "Stored", width: "86px", least: 86, right: true, value: row => row.bytes, cell: row => size(row.stored) },
  { title: "Decoded", width: "86px", least: 86, right: true, value: row => row.decoded === null ? null : Number(row.decoded), cell: row => size(row.decoded), tells: row => row.decoded !== row.stored },
  { title: "Encoding", width: "80px", least: 80, value: row => row.encoding, cell: row => row.encoding },
  { title: "Aligned", width: "80px", least: 80, right: true, value: row => row.alignment, cell: row => size(row.alignment) },
  { title: "Digest", width: "80px", least: 80, value: row => row.digestKind, cell: row => row.digestKind, tells: row => row.digest !== null },
];
const of = key => row => row.values === null ? null : row.values[key];
const statistic = (title, key) => ({ title, width: "86px", least: 86, right: true, mono: true, value: of(key), cell: row => number(of(key)(row)) });
const STATISTICS = [
  statistic("Min", "min"), statistic("Max", "max"), statistic("Mean", "mean"), statistic("Std", "std"),
  { title: "NaN", width: "60px", least: 60, right: true, value: of("nan"), cell: row => row.values && row.values.nan ? many(row.values.nan) : "", tells: row => row.values && row.values.nan > 0 },
  { title: "Values", width: "116px", least: 116, value: of("std"), cell: row => row.values && row.values.histogram ? histogram(row.values.histogram, 100, 20) : "" },
];

const table = new Table(by("table"), { label: "Tensors", height: 560, onSelect: select });
const map = new Treemap({ map: by("map"), trail: by("trail"), tip: by("tip"), onSelect: select, onZoom: prefix => { state.prefix = prefix; filter(); } });

// Words, all of which are to be in the name; a star stands for anything.
function searchOf(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).map(word => word.split("*").filter(Boolean));
  return name => words.every(parts => {
    let at = 0;
    return parts.every(part => {
      const found = name.indexOf(part, at);
      at = found + part.length;
      return found >= 0;
    });
  });
}

function filter() {
  const { file, prefix, facets } = state;
  const found = searchOf(state.text);
  const chosen = Object.entries(facets);
  const rows = file.rows.filter(row => row.title.startsWith(prefix) && chosen.every(([key, value]) => row[key] === value) && found(row.lower));
  table.setRows(rows);
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  by("count").textContent = `${many(rows.length)} of ${plural(file.rows.length, "tensor")}, ${size(bytes)}`;
  const chip = (label, remove) => {
    const button = make("button", { type: "button", title: "Take this choice away" }, label + " \u00d7");
    button.addEventListener("click", () => { remove(); filter(); });
    return button;
  };
  by("chips").replaceChildren(...chosen.map(([key, value]) => {
    const { title } = FACETS.find(facet => facet.key === key);
    return chip(`${title}: ${value}`, () => { delete facets[key]; });
  }), ...(prefix ? [chip(`In ${prefix}`, () => map.zoom(map.path.slice(0, 1)))] : []));
  shares();
}

// Bars of what the file is made of, with buttons that choose.
function shares() {
  const { file, facets } = state;
  by("shares").replaceChildren(...FACETS.map(({ key, title }) => {
    const groups = file.facets[key];
    const bar = make("div", { className: "bar", role: "img", ariaLabel: title + ": " + groups.slice(0, 6).map(group => `${group.value} ${percent(group.bytes, file.bytes)}`).join(", ") });
    const legend = make("div", { className: "legend" });
    for (const { value, bytes, count } of groups.slice(0, 24)) {
      const part = make("span", { title: `${value}: ${percent(bytes, file.bytes)}` });
      part.style.flexGrow = bytes;
      part.style.background = colourOf(key, value);
      if (bytes > 0) bar.append(part);
      const button = make("button", { type: "button", ariaPressed: String(facets[key] === value) }, swatch(key, value), value, make("small", { textContent: `${percent(bytes, file.bytes)}, ${many(count)}` }));
      button.addEventListener("click", () => {
        if (facets[key] === value) delete facets[key]; else facets[key] = value;
        filter();
      });
      legend.append(button);
    }
    if (groups.length > 24) legend.append(make("small", { textContent: `and ${groups.length - 24} more` }));
    return make("div", { className: "shares" }, make("div", { textContent: title }), bar, legend);
  }));
}

function list(pairs) {
  return make("dl", {}, ...pairs.filter(pair => pair && pair[1] !== "").flatMap(([key, value]) => [make("dt", { textContent: key }), make("dd", { textContent: value })]));
}

function select(row) {
  const panel = by("detail"), { values } = row;
  const close = make("button", { type: "button" }, "Close");
  close.addEventListener("click", () => { panel.hidden = true; });
  const exactly = bytes => bytes === null ? "unknown" : `${size(bytes)} (${many(bytes)} bytes)`;
  panel.replaceChildren(close, make("h3", { textContent: row.title }), list([
    ["Type", row.type],
    ["Shape", `[${row.shape.join(", ")}]`],
    ["Elements", many(row.elements)],
    ["Format", row.format],
    ["Encoding", row.encoding],
    ["Stored", exactly(row.stored)],
    ["Decoded", exactly(row.decoded)],
    ["Offset", `${many(row.offset)}, a multiple of ${many(row.alignment)}`],
    ["File", state.file.parts.length > 1 ? clean(state.file.parts[row.part].name) : ""],
    ["Digest", row.digest === null ? "none" : row.digest],
  ]));
  if (values) {
    panel.append(list([
      ["Numbers", many(values.count)], ["Min", number(values.min)], ["Max", number(values.max)], ["Mean", number(values.mean)],
      ["Std", number(values.std)], ["Zero", many(values.zero)], ["NaN", many(values.nan)], ["Infinite", many(values.infinite)],
    ]));
    if (values.histogram) {
      panel.append(make("div", { className: "values", role: "img", ariaLabel: `Histogram from ${number(values.min)} to ${number(values.max)}` }, histogram(values.histogram, 390, 120)));
      panel.append(make("div", { className: "axis" }, make("span", { textContent: number(values.min) }), make("span", { textContent: number(values.max) })));
    }
  }
  if (row.attributes.length) panel.append(make("h3", { textContent: "Attributes" }), make("ul", {}, ...row.attributes.map(line => make("li", { textContent: line }))));
  panel.hidden = false;
}

function showFile(file) {
  Object.assign(state, { file, text: "", prefix: "", facets: {} });
  by("search").value = "";
  by("path").textContent = file.path.replace(HARMFUL, c => c === "\\" ? c : "?");
  const share = wanted => percent(file.rows.filter(wanted).reduce((sum, row) => sum + row.bytes, 0), file.bytes);
  const facts = [
    ["Container", `${clean(file.container)} ${file.version}`.trim()], ["Size", size(file.size)], ["Tensors", many(file.objects)], ["Elements", many(file.elements)],
    ["Decoded", size(file.decoded)], ["Compressed", share(row => row.encoding !== "raw")], ["Aligned to 64", share(row => row.alignment >= 64)], ["With digest", share(row => row.digest !== null)],
    ...(file.parts.length > 1 ? [["Files", many(file.parts.length)]] : []),
  ];
  by("facts").replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: value }))));
  by("attributes").replaceChildren(...file.attributes.map(line => make("li", { textContent: line })));
  by("attributes-heading").textContent = plural(file.attributes.length, "attribute") + " of the file";
  by("attributes-section").hidden = file.attributes.length === 0;
  by("detail").hidden = true;
  [...by("tabs").children].forEach((tab, at) => tab.setAttribute("aria-selected", files[at] === file));
  const columns = file.has_stats ? [...COLUMNS, ...STATISTICS] : COLUMNS;
  table.setColumns(columns.filter(column => !column.tells || file.rows.some(column.tells)));
  file.tree ||= treeOf(file.rows);
  map.show(file.tree);
  filter();
}

// How an object differs, in words.
function inWords(found) {
  if (found.what !== "values") return `${found.what}: ${found.first} and ${found.second}`;
  const role = found.role === "data" || found.role === null ? "" : found.role + ": ";
  if (found.unit === "number") {
    const more = found.all_finite ? "" : ", some to infinity or NaN";
    const at = found.first_place ? `[${found.first_place.join(", ")}]` : found.first_at;
    return `${role}${many(found.differ)} of ${many(found.of)} numbers, at most by ${number(found.largest)}${more}, the first at ${at}: ${found.first} and ${found.second}`;
  }
  if (found.unit === "byte") return `${role}${many(found.differ)} of ${many(found.of)} bytes, the first at byte ${many(found.first_at)}`;
  return role + (found.unit === "size" ? `${many(found.first)} bytes and ${many(found.second)}` : "the same numbers by other bits");
}

function showDifference(found) {
  by("difference").hidden = false;
  const rows = [
    ...found.attributes.map(one => ({ kind: "attribute", name: "", what: inWords(one), share: null })),
    ...found.only_in_first.map(name => ({ kind: "only in the first", name, what: "", share: null })),
    ...found.only_in_second.map(name => ({ kind: "only in the second", name, what: "", share: null })),
    ...found.differing.flatMap(({ name, differences }) => differences.map(one => ({ kind: "differs", name, what: inWords(one), share: one.unit === "number" ? one.largest : null }))),
  ].map(row => ({ ...row, name: row.name && clean(row.name), what: row.what.replace(HARMFUL, "?") }));
  const counts = [[found.differing.length, "differ"], [found.only_in_first.length, "only in the first"], [found.only_in_second.length, "only in the second"], [found.not_compared, "could not be compared"]];
  by("difference-summary").textContent = [`${plural(found.same, "tensor")} the same`, ...counts.filter(([count]) => count > 0).map(([count, what]) => `${many(count)} ${what}`)].join(", ");
  const differences = new Table(by("difference-table"), {
    label: "Differences", height: 320, onSelect: row => {
      const found = state.file.rows.find(one => one.name === row.name);
      if (found) select(found);
    },
  });
  differences.setColumns([
    { title: "What", width: "150px", least: 150, value: row => row.kind, cell: row => row.kind },
    { title: "Name", width: "minmax(220px, 1fr)", least: 220, mono: true, value: row => sortable(row.name), cell: row => row.name },
    { title: "At most by", width: "110px", least: 110, right: true, mono: true, value: row => row.share, cell: row => number(row.share) },
    { title: "How", width: "minmax(300px, 2fr)", least: 300, value: row => row.what, cell: row => row.what },
  ]);
  differences.setRows(rows);
  by("difference-table").hidden = rows.length === 0;
}

by("tabs").append(...(files.length > 1 ? files : []).map(file => {
  const tab = make("button", { type: "button", role: "tab", textContent: file.path.split("/").pop().replace(HARMFUL, "?") });
  tab.addEventListener("click", () => showFile(file));
  return tab;
}));
by("colour").append(...FACETS.map(({ key, title }) => make("option", { value: key, textContent: title.toLowerCase() })));
by("colour").addEventListener("change", event => { map.facet = event.target.value; map.draw(); });
by("search").addEventListener("input", event => { state.text = event.target.value; filter(); });
by("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
addEventListener("keydown", event => { if (event.key === "Escape") by("detail").hidden = true; });
by("footer").textContent = `Made by ${PAGE.program}. This page is one file and asks for no other.`;
document.title = files.map(file => file.path.split("/").pop()).join(", ").replace(HARMFUL, "?") + " - zt report";
if (PAGE.diff) showDifference(PAGE.diff);
showFile(files[0]);
