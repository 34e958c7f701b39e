// A table of any number of rows, of which those are made that are seen.

const ROW_HEIGHT = 28;
const TALLEST = 12e6; // pixels that browsers can scroll; beyond that a pixel is more than one

class Table {
  // A column: title, width, value(row) to sort by, cell(row) to show, right.
  constructor(holder, { label, height, onSelect }) {
    Object.assign(this, { onSelect, rows: [], shown: [], sortedBy: null, ascending: true, active: -1 });
    this.head = make("div", { className: "head", role: "row" });
    this.window = make("div", { className: "window" });
    this.space = make("div", { className: "space" }, this.window);
    this.body = make("div", { className: "rows", tabIndex: 0, role: "rowgroup", ariaLabel: label }, this.space);
    this.most = height;
    this.grid = make("div", { className: "grid", role: "grid", ariaLabel: label }, this.head, this.body);
    holder.replaceChildren(this.grid);
    this.body.addEventListener("scroll", () => this.draw());
    this.body.addEventListener("keydown", event => this.key(event));
    this.window.addEventListener("click", event => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.at), true);
    });
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  setColumns(columns) {
    this.columns = columns;
    this.template = columns.map(column => column.width).join(" ");
    this.head.replaceChildren(...columns.map((column, at) => {
      const button = make("button", { type: "button", title: "Sort by " + column.title.toLowerCase() }, column.title);
      button.addEventListener("click", () => this.sort(at, this.sortedBy === at ? !this.ascending : !column.right));
      return make("div", { role: "columnheader", className: column.right ? "right" : "" }, button);
    }));
    for (const part of [this.head, this.body]) part.style.minWidth = columns.reduce((sum, column) => sum + column.least, 0) + "px";
    this.head.style.gridTemplateColumns = this.template;
    this.sortedBy = null;
  }

  setRows(rows) {
    this.rows = rows;
    this.arrange();
  }

  sort(at, ascending) {
    this.sortedBy = at;
    this.ascending = ascending;
    this.arrange();
  }

  arrange() {
    this.shown = this.rows;
    if (this.sortedBy !== null) {
      const { value } = this.columns[this.sortedBy], sign = this.ascending ? 1 : -1;
      const keyed = this.rows.map(row => [value(row), row]);
      const missing = key => key === null || key === undefined || key === "";
      keyed.sort(([a], [b]) => missing(a) || missing(b) ? missing(a) - missing(b) : a < b ? -sign : a > b ? sign : 0);
      this.shown = keyed.map(([, row]) => row);
    }
    [...this.head.children].forEach((cell, at) => {
      const sorted = at === this.sortedBy;
      cell.setAttribute("aria-sort", sorted ? (this.ascending ? "ascending" : "descending") : "none");
      cell.firstChild.textContent = this.columns[at].title + (sorted ? (this.ascending ? " \u25b2" : " \u25bc") : "");
    });
    this.active = -1;
    const whole = this.shown.length * ROW_HEIGHT;
    this.space.style.height = Math.min(whole, TALLEST) + "px";
    this.body.style.height = Math.min(Math.max(whole, ROW_HEIGHT) + 2, this.most) + "px";
    this.grid.setAttribute("aria-rowcount", this.shown.length + 1);
    this.head.style.paddingRight = this.body.offsetWidth - this.body.clientWidth + "px";
    this.body.scrollTop = 0;
    this.draw();
  }

  // The first row that is seen, as a fraction where a pixel is more than one.
  first() {
    const room = this.body.clientHeight;
    const whole = this.shown.length * ROW_HEIGHT, tall = Math.min(whole, TALLEST);
    const part = tall > room ? this.body.scrollTop / (tall - room) : 0;
    return part * Math.max(whole - room, 0) / ROW_HEIGHT;
  }

  draw() {
    if (!this.columns) return;
    const first = Math.floor(this.first()), count = Math.ceil(this.body.clientHeight / ROW_HEIGHT) + 1;
    const rows = this.shown.slice(first, first + count).map((row, at) => this.line(row, first + at));
    this.window.style.top = this.body.scrollTop - (this.first() - first) * ROW_HEIGHT + "px";
    this.window.replaceChildren(...rows);
  }

  line(row, at) {
    const line = make("div", { className: "row", role: "row" });
    line.dataset.at = at;
    line.setAttribute("aria-rowindex", at + 2);
    line.setAttribute("aria-selected", at === this.active);
    line.style.gridTemplateColumns = this.template;
    for (const column of this.columns) {
      const cell = make("div", { role: "gridcell", className: (column.right ? "right " : "") + (column.mono ? "mono" : "") });
      const content = column.cell(row);
      cell.append(content);
      if (typeof content === "string") cell.title = content;
      line.append(cell);
    }
    return line;
  }

  choose(at, opens) {
    this.active = Math.max(0, Math.min(at, this.shown.length - 1));
    const room = Math.floor(this.body.clientHeight / ROW_HEIGHT), first = this.first();
    if (this.active < first || this.active >= first + room) this.scrollTo(this.active < first ? this.active : this.active - room + 1);
    this.draw();
    if (opens && this.shown.length) this.onSelect?.(this.shown[this.active]);
  }

  scrollTo(row) {
    const room = this.body.clientHeight, whole = this.shown.length * ROW_HEIGHT;
    const part = whole > room ? row * ROW_HEIGHT / (whole - room) : 0;
    this.body.scrollTop = part * (Math.min(whole, TALLEST) - room);
  }

  key(event) {
    const page = Math.floor(this.body.clientHeight / ROW_HEIGHT);
    const last = this.shown.length - 1;
    const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: last }[event.key];
    if (to !== undefined) this.choose(to, false);
    else if (event.key === "Enter" && this.active >= 0) this.choose(this.active, true);
    else return;
    event.preventDefault();
  }
}
