// The map: rectangles as large as the bytes of what begins with the same name.

const MOST_PARTS = 32;   // of a name; what is behind is one part
const MOST_TILES = 6000; // a level that would make more is not opened
const LEAST_AREA = 12;   // square pixels of a tile
const HEADING = 19;      // pixels

// The tree of names, which are cut behind dots and slashes. What has one child alone is one with it.
function treeOf(rows) {
  const root = { label: "", prefix: "", bytes: 0, count: 0, below: new Map(), row: null };
  for (const row of rows) {
    let here = root, rest = row.title;
    for (let depth = 1; ; depth++) {
      here.bytes += row.bytes;
      here.count++;
      if (rest === "") break;
      const cut = depth < MOST_PARTS ? rest.slice(1).search(/[./]/) : -1;
      const part = cut < 0 ? rest : rest.slice(0, cut + 2);
      rest = rest.slice(part.length);
      let next = here.below.get(part);
      if (!next) {
        next = { label: part, prefix: here.prefix + part, bytes: 0, count: 0, below: new Map(), row: null };
        here.below.set(part, next);
      }
      here = next;
    }
    here.row = row;
  }
  finish(root);
  return root;
}

function finish(node) {
  for (;;) {
    node.children = [...node.below.values()];
    const only = node.children[0];
    if (node.children.length !== 1 || node.row || node.label === "") break;
    Object.assign(node, { label: node.label + only.label, prefix: only.prefix, row: only.row, below: only.below });
  }
  if (node.row && node.children.length) node.children.push({ ...node, label: node.row.title, bytes: node.row.bytes, count: 1, below: new Map(), children: [] });
  delete node.below;
  node.children.forEach(child => child.below && finish(child));
  node.children.sort((a, b) => b.bytes - a.bytes);
  if (node.children.length) node.row = null;
}

// Places for children in a rectangle, each as square as can be: by the way of Bruls, Huizing and van Wijk.
function squarify(children, x, y, width, height) {
  const total = children.reduce((sum, child) => sum + child.bytes, 0);
  const scale = total > 0 ? width * height / total : 0, placed = [];
  let at = 0;
  while (at < children.length && children[at].bytes * scale >= LEAST_AREA) {
    const side = Math.min(width, height);
    let end = at, sum = 0, worst = Infinity;
    for (; end < children.length; end++) {
      const next = sum + children[end].bytes * scale;
      const largest = children[at].bytes * scale, least = children[end].bytes * scale;
      const shape = Math.max(side * side * largest / (next * next), next * next / (side * side * least));
      if (shape > worst) break;
      worst = shape;
      sum = next;
    }
    const thick = sum / side;
    let along = 0;
    for (; at < end; at++) {
      const long = children[at].bytes * scale / thick;
      placed.push(width < height
        ? { node: children[at], x: x + along, y, width: long, height: thick }
        : { node: children[at], x, y: y + along, width: thick, height: long });
      along += long;
    }
    if (width < height) { y += thick; height -= thick; } else { x += thick; width -= thick; }
  }
  return placed;
}

class Treemap {
  constructor({ map, trail, tip, onSelect, onZoom }) {
    Object.assign(this, { map, trail, tip, onSelect, onZoom, facet: "type" });
    new ResizeObserver(() => this.draw()).observe(map);
    map.addEventListener("click", event => this.act(event.target.closest(".tile")));
    map.addEventListener("keydown", event => this.key(event));
    map.addEventListener("mousemove", event => this.hover(event));
    map.addEventListener("mouseleave", () => { this.tip.hidden = true; });
  }

  show(root) {
    this.path = [root];
    this.draw();
  }

  zoom(path) {
    this.path = path;
    this.draw();
    this.onZoom(this.here().prefix);
  }

  here() {
    return this.path[this.path.length - 1];
  }

  draw() {
    if (!this.path) return;
    this.trail.replaceChildren(...this.path.flatMap((node, at) => {
      const button = make("button", { type: "button", textContent: at === 0 ? "all" : node.label });
      button.addEventListener("click", () => this.zoom(this.path.slice(0, at + 1)));
      return at === 0 ? [button] : ["\u203a", button];
    }), make("span", { textContent: ` ${size(this.here().bytes)} in ${plural(this.here().count, "tensor")}` }));
    const [width, height] = [this.map.clientWidth, this.map.clientHeight];
    const outside = this.path.slice(0, -1);
    let level = this.here().row ? [{ node: this.here(), x: 0, y: 0, width, height, path: outside }]
      : squarify(this.here().children, 0, 0, width, height).map(place => ({ ...place, path: this.path }));
    this.tiles = [];
    while (level.length) {
      const next = level.filter(({ node, width, height }) => node.children.length > 0 && width > 44 && height > 40)
        .map(place => ({ place, inner: squarify(place.node.children, place.x + 3, place.y + HEADING, place.width - 6, place.height - HEADING - 3) }));
      const count = next.reduce((sum, { inner }) => sum + inner.length, 0);
      const opened = this.tiles.length + level.length + count <= MOST_TILES ? next : [];
      const open = new Set(opened.map(({ place }) => place));
      this.tiles.push(...level.map(place => this.tile(place, open.has(place))));
      level = opened.flatMap(({ place, inner }) => inner.map(one => ({ ...one, path: [...place.path, place.node] })));
    }
    this.map.replaceChildren(...this.tiles);
  }

  tile({ node, path, x, y, width, height }, open) {
    const labelled = width > 36 && height > 16;
    const tile = make("div", { className: `tile ${open ? "group" : "leaf"}${labelled ? " labelled" : ""}`, role: "button", tabIndex: path.length <= this.path.length ? 0 : -1 });
    Object.assign(tile.style, { left: x + "px", top: y + "px", width: Math.max(width - 1, 1) + "px", height: Math.max(height - 1, 1) + "px" });
    if (!open) tile.style.background = this.colour(node);
    if (labelled) {
      tile.append(make("b", { textContent: node.label }));
      if (width > 130 || (!open && height > 34 && width > 60)) {
        tile.append(open || height < 34 ? " " : make("br"), make("small", { textContent: size(node.bytes) }));
      }
    }
    tile.setAttribute("aria-label", `${node.prefix}, ${size(node.bytes)}, ${plural(node.count, "tensor")}`);
    Object.assign(tile, { node, path: [...path, node] });
    return tile;
  }

  // That of a tensor, or that of most bytes of a group.
  colour(node) {
    const bytes = new Map(), due = [node];
    for (let at = 0; at < due.length && at < 2000; at++) {
      const { row, children } = due[at];
      if (row) bytes.set(row[this.facet], (bytes.get(row[this.facet]) || 0) + row.bytes);
      due.push(...children.slice(0, 2000));
    }
    const most = [...bytes].sort((a, b) => b[1] - a[1])[0];
    return most ? colourOf(this.facet, most[0]) : "var(--line)";
  }

  act(tile) {
    if (!tile) return;
    if (tile.node.row) this.onSelect(tile.node.row);
    else this.zoom(tile.path);
  }

  key(event) {
    const tile = event.target.closest(".tile");
    const top = this.tiles.filter(one => one.tabIndex === 0);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) top[(top.indexOf(tile) + step + top.length) % top.length]?.focus();
    else if (event.key === "Enter" || event.key === " ") {
      this.act(tile);
      if (!tile.node.row) this.map.querySelector(".tile")?.focus();
    } else if (event.key === "Backspace" && this.path.length > 1) {
      this.zoom(this.path.slice(0, -1));
      this.map.querySelector(".tile")?.focus();
    } else return;
    event.preventDefault();
  }

  hover(event) {
    const tile = event.target.closest(".tile");
    this.tip.hidden = !tile;
    if (!tile) return;
    const { node } = tile;
    const more = node.row ? `${node.row.type} [${node.row.shape.join(", ")}]` : plural(node.count, "tensor");
    this.tip.replaceChildren(make("b", { textContent: node.row ? node.row.title : node.prefix }), make("br"),
      `${more}, ${size(node.bytes)}, ${percent(node.bytes, this.path[0].bytes)} of all`);
    const left = Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8);
    const below = event.clientY + 18 + this.tip.offsetHeight < innerHeight;
    Object.assign(this.tip.style, { left: left + "px", top: (below ? event.clientY + 18 : event.clientY - 10 - this.tip.offsetHeight) + "px" });
  }
}
