// Interactive tables: sort, filter, search, expand and save rows. The data are in the page.
// No libraries and no requests. The page is readable without JavaScript.
const SHOWN = matchMedia("(max-width: 40rem)").matches ? 8 : 25; // rows on a page of a table
const LISTED = 200; // partners in the panel of a node
const COMMON = 12; // common partners in the evidence of a link
const make = (tag, options = {}, ...children) => {
  const { data, ...rest } = options;
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(rest)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, value] of Object.entries(data || {})) element.dataset[name] = value;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};
const save = (name, content) => {
  const blob = content instanceof Blob ? content : new Blob([content], { type: "text/plain;charset=utf-8" });
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
};
// Text with escapes for characters that are invisible or reorder what follows; saved files keep the text itself.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]/g;
const visible = (text) => text.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

// -------------------------------------------------------------------------------------------------------- columns

class Column {
  constructor(given) {
    Object.assign(this, given); // name, kind ("number", "text", "mixed"), values, texts, places
    this.numeric = this.kind === "number";
  }
  text(i) {
    if (this.texts) return this.texts[i];
    const value = this.values[i];
    if (value === null) return "–";
    if (typeof value !== "number") return value;
    if (Number.isInteger(value) && this.whole) return String(value);
    if (this.places === null) return String(Number(value.toPrecision(4)));
    const fixed = value.toFixed(this.places);
    return value !== 0 && Number(fixed) === 0 ? value.toPrecision(2) : fixed; // small, but not zero
  }
  // Numbers, or positions of texts in alphabetical order; computed once.
  get ranks() {
    if (this.sorted) return this.sorted;
    const { values } = this;
    if (this.numeric) return (this.sorted = values);
    const distinct = [...new Set(values)].filter((value) => value !== null);
    const at = new Map(distinct.sort(collator.compare).map((value, k) => [value, k]));
    return (this.sorted = values.map((value) => (value === null ? null : at.get(value))));
  }
  get choices() {
    if (this.numeric) return [];
    if (!this.kinds) {
      this.kinds = [...new Set(this.values)];
      this.kinds = this.kinds.length <= 12 && this.kinds.length < this.values.length ? this.kinds : [];
      this.kinds = this.kinds.filter((value) => value !== null).sort(collator.compare);
    }
    return this.kinds;
  }
}

// --------------------------------------------------------------------------------------------------------- tables

class LiveTable {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.columns = data.columns.map((column) => new Column(column));
    this.n = data.rows;
    this.shown = Array.from({ length: this.n }, (_, i) => i);
    this.order = null;
    this.page = 0;
    this.open = new Set();
    this.listeners = [];
    this.onname = null;
    const texts = this.columns.filter((column) => !column.numeric);
    this.haystack = Array.from({ length: this.n }, (_, i) =>
      texts.map((column) => column.text(i)).join("\u0001").toLowerCase());
    this.build();
    this.update();
  }

  build() {
    const { root, data } = this;
    const name = (what) => `${what}: ${data.title}`;
    this.search = make("input", {
      type: "search", class: "search", placeholder: "Search", autocomplete: "off", spellcheck: false,
      "aria-label": name("Search"), oninput: () => this.update(),
    });
    this.filters = make("div", { class: "fields" });
    this.controls = this.columns.map((column) => this.filter(column));
    const clear = make("button", { type: "button", onclick: () => this.clear() }, "Clear");
    const filters = make("details", { class: "filters" }, make("summary", {}, "Filters"), this.filters);
    this.count = make("p", { class: "count", role: "status" });
    const out = (format) => make("button", {
      type: "button", class: `save-${format}`, title: "All matching rows, in this order",
      onclick: () => save(`${data.file}.${format}`, this.written(format)),
    }, `Save ${format.toUpperCase()}`);
    const tools = make("div", { class: "tools" }, this.search, clear, out("tsv"), out("csv"));
    const table = root.querySelector("table");
    this.body = table.tBodies[0];
    table.classList.add("live");
    const heads = table.tHead.rows[0];
    heads.replaceChildren(...this.columns.map((column, j) => make("th", { scope: "col",
      class: column.numeric ? "number" : "", "aria-sort": "none" },
      make("button", { type: "button", onclick: () => this.sort(j) }, column.name))));
    this.heads = [...heads.cells];
    const step = (label, words, to) => make("button", {
      type: "button", class: "step", "aria-label": words, onclick: () => this.turn(to()),
    }, label);
    this.pages = make("nav", { class: "pages", "aria-label": name("Pages") },
      step("«", "First page", () => 0), step("‹", "Previous page", () => this.page - 1),
      (this.where = make("span", {})),
      step("›", "Next page", () => this.page + 1), step("»", "Last page", () => this.last));
    root.querySelector(".table-head").append(tools, filters, this.count);
    root.querySelector(".table-foot").replaceChildren(this.pages);
    this.body.addEventListener("click", (event) => this.clicked(event));
    root.classList.add("alive");
  }

  filter(column) {
    const changed = () => this.update();
    let control = null;
    if (column.numeric) {
      const bound = (words) => make("input", {
        type: "number", step: "any", inputMode: "decimal", placeholder: words,
        "aria-label": `${column.name}, ${words}`, oninput: changed,
      });
      control = { low: bound("at least"), high: bound("at most") };
      this.filters.append(make("fieldset", {}, make("legend", {}, column.name), control.low, control.high));
    } else if (column.choices.length) {
      const options = ["", ...column.choices].map((value) => make("option", { value }, value === "" ? "all" : value));
      control = { is: make("select", { "aria-label": column.name, onchange: changed }, ...options) };
      this.filters.append(make("fieldset", {}, make("legend", {}, column.name), control.is));
    } else {
      const has = make("input", { type: "search", placeholder: "contains", "aria-label": `${column.name} contains`,
        oninput: changed });
      control = { has };
      this.filters.append(make("fieldset", {}, make("legend", {}, column.name), has));
    }
    return control;
  }

  clear() {
    this.search.value = "";
    for (const control of this.controls) for (const input of Object.values(control)) input.value = "";
    this.update();
    this.search.focus();
  }

  // The matching rows, in order.
  update() {
    const asked = words(this.search.value);
    const tests = [];
    if (asked.length) tests.push((i) => asked.every((word) => this.haystack[i].includes(word)));
    this.controls.forEach((control, j) => {
      const column = this.columns[j], { values } = column;
      if (control.low) {
        const low = control.low.value === "" ? null : Number(control.low.value);
        const high = control.high.value === "" ? null : Number(control.high.value);
        if (low !== null) tests.push((i) => values[i] !== null && values[i] >= low);
        if (high !== null) tests.push((i) => values[i] !== null && values[i] <= high);
      } else if (control.is && control.is.value !== "") {
        tests.push((i) => values[i] === control.is.value);
      } else if (control.has && control.has.value !== "") {
        const part = control.has.value.toLowerCase();
        tests.push((i) => column.text(i).toLowerCase().includes(part));
      }
    });
    const rows = [];
    for (let i = 0; i < this.n; i++) if (tests.every((test) => test(i))) rows.push(i);
    if (this.order) {
      const { ranks } = this.columns[this.order.column], sign = this.order.down ? -1 : 1;
      rows.sort((a, b) => {
        const x = ranks[a], y = ranks[b];
        if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1; // missing values come last
        return x < y ? -sign : x > y ? sign : a - b;
      });
    }
    this.shown = rows;
    this.page = 0;
    this.render();
    this.listeners.forEach((tell) => tell(rows));
  }

  sort(j) {
    const now = this.order && this.order.column === j ? this.order.down : null;
    const first = this.columns[j].numeric; // numbers: largest first
    this.order = now === null ? { column: j, down: first } : now === first ? { column: j, down: !first } : null;
    this.heads.forEach((head, k) => {
      const on = this.order && this.order.column === k;
      head.setAttribute("aria-sort", !on ? "none" : this.order.down ? "descending" : "ascending");
    });
    this.update();
  }

  get last() { return Math.max(0, Math.ceil(this.shown.length / SHOWN) - 1); }
  turn(page) {
    this.page = Math.min(Math.max(0, page), this.last);
    this.render();
  }

  render() {
    const start = this.page * SHOWN, rows = this.shown.slice(start, start + SHOWN);
    const parts = [];
    for (const i of rows) parts.push(this.row(i), ...(this.open.has(i) ? [this.detail(i)] : []));
    if (!rows.length) {
      const clear = "No rows match; press Clear.";
      parts.push(make("tr", {}, make("td", { colSpan: this.columns.length, class: "none" }, clear)));
    }
    this.body.replaceChildren(...parts);
    const n = this.shown.length;
    const count = this.n === n ? `${n}` : `${n} of ${this.n}`;
    this.count.textContent = `${count} ${this.n === 1 ? "row" : "rows"}`;
    this.where.textContent = n ? `${start + 1}–${start + rows.length} of ${n}` : "";
    this.pages.hidden = n <= SHOWN;
    const [first, back, forth, end] = this.pages.querySelectorAll("button");
    first.disabled = back.disabled = this.page === 0;
    forth.disabled = end.disabled = this.page >= this.last;
  }

  row(i) {
    const cells = this.columns.map((column, j) => {
      const cell = make("td", { class: column.numeric ? "number" : "", data: { label: column.name } });
      if (j === 0 && this.details(i)) {
        const open = this.open.has(i);
        cell.append(make("button", { type: "button", class: "more", "aria-expanded": String(open),
          "aria-label": "Details", data: { row: i } }, open ? "▾" : "▸"), " ");
      }
      const text = column.text(i);
      if (this.onname && this.data.names.includes(j)) {
        cell.append(make("button", { type: "button", class: "name", data: { name: text } }, visible(text)));
      } else cell.append(visible(text));
      return cell;
    });
    return make("tr", { class: this.data.stressed.includes(i) ? "ours" : "", data: { row: i } }, ...cells);
  }

  details(i) { return this.data.details.length ? this.data.details[i] : null; }

  detail(i) {
    const cell = make("td", { colSpan: this.columns.length });
    cell.append(...this.explained(i));
    return make("tr", { class: "detail" }, cell);
  }

  // The details of row i: paragraphs and small tables.
  explained(i) {
    return (this.details(i) || []).map(([k, content]) => {
      const block = this.data.blocks[k];
      const head = block.title ? [make("p", { class: "block" }, block.title)] : [];
      if (!block.columns) return make("div", {}, ...head, make("p", {}, content));
      const heads = block.columns.map((name, j) => make("th", { scope: "col", class: block.numeric[j] ? "number" : "" }, name));
      const rows = content.map((cells) => make("tr", {}, ...cells.map((cell, j) =>
        make("td", { class: block.numeric[j] ? "number" : "" }, cell === null ? "–" : visible(String(cell))))));
      const note = block.note ? [make("p", { class: "note" }, block.note)] : [];
      return make("div", {}, ...head,
        make("table", { class: "small" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)),
        ...note);
    });
  }

  clicked(event) {
    const name = event.target.closest("button.name");
    if (name) { this.onname(name.dataset.name); return; }
    const row = event.target.closest("tr[data-row]");
    if (!row || !this.details(Number(row.dataset.row)) || String(getSelection())) return;
    const i = Number(row.dataset.row);
    if (this.open.has(i)) this.open.delete(i); else this.open.add(i);
    this.render();
    const again = this.body.querySelector(`button.more[data-row="${i}"]`);
    if (again) again.focus();
  }

  // The matching rows, in their order, as the content of a file.
  written(format) {
    const { safe } = this.data, formula = /^[=+\-@\t\r＝＋－＠]/;
    const guard = (text) => (safe && formula.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
    const mark = format === "tsv" ? "\t" : ",", odd = new RegExp(`["\\r\\n${mark}]`);
    const cell = (text) => (odd.test(guard(text)) ? `"${guard(text).replaceAll('"', '""')}"` : guard(text));
    const value = (column, i) => {
      const raw = column.values[i];
      return raw === null ? "" : cell(String(raw));
    };
    const lines = [this.columns.map((column) => cell(column.name)).join(mark)];
    for (const i of this.shown) lines.push(this.columns.map((column) => value(column, i)).join(mark));
    return lines.join("\n") + "\n";
  }
}
