// A network on a canvas: zoom, pan, drag nodes, show names, select a node.

class LiveNetwork {
  constructor(root, data, table) {
    this.root = root;
    this.data = data;
    this.table = table;
    this.n = data.names.length;
    this.x = data.x.slice();
    this.y = data.y.slice();
    this.known = data.known; // [i, j, i, j, ...]
    this.predicted = data.predicted; // of row r of the table: [2r], [2r + 1]
    this.at = new Map(data.names.map((name, i) => [name, i]));
    this.lower = data.names.map((name) => name.toLowerCase());
    this.links = Array.from({ length: this.n }, () => new Map()); // known partners, with weights
    this.found = Array.from({ length: this.n }, () => []); // rows of the table
    for (let e = 0; e < this.known.length; e += 2) {
      const i = this.known[e];
      const j = this.known[e + 1];
      const w = data.weights ? data.weights[e / 2] : 1;
      this.links[i].set(j, w);
      this.links[j].set(i, w);
    }
    for (let r = 0; 2 * r < this.predicted.length; r++) {
      this.found[this.predicted[2 * r]].push(r);
      this.found[this.predicted[2 * r + 1]].push(r);
    }
    this.passing = new Uint8Array(this.predicted.length / 2).fill(1);
    this.drawn = new Uint8Array(this.predicted.length / 2).fill(1); // the first of the matching rows
    this.byDegree = Array.from({ length: this.n }, (_, i) => i)
      .sort((a, b) => this.links[b].size + this.found[b].length - this.links[a].size - this.found[a].length);
    this.selected = null;
    this.pointers = new Map();
    this.build();
    if (table) {
      table.onname = (name) => {
        if (!this.at.has(name)) return;
        this.around(this.at.get(name));
        this.panel.focus({ preventScroll: true });
        this.root.scrollIntoView({ behavior: "smooth", block: "start" });
      };
      table.listeners.push((rows) => {
        this.passing.fill(0);
        for (const r of rows) this.passing[r] = 1;
        this.choose(rows);
      });
      this.choose(table.shown);
      table.render();
    }
    this.fit();
  }

  build() {
    const button = (label, words, act) => make("button", { type: "button", title: words, "aria-label": words, onclick: act }, label);
    this.canvas = make("canvas", { tabIndex: 0, role: "application",
      "aria-label": "Network. Arrow keys pan, plus and minus zoom, 0 shows the whole network, Escape clears the selection." });
    this.finder = make("input", { type: "search", placeholder: "Find a node", autocomplete: "off", spellcheck: false,
      role: "combobox", "aria-label": "Find a node", "aria-expanded": "false", "aria-controls": `${this.root.id}-found`,
      oninput: () => this.suggest(), onkeydown: (event) => this.typed(event),
      onblur: () => setTimeout(() => { this.options.hidden = true; }, 150) });
    this.options = make("ul", { id: `${this.root.id}-found`, role: "listbox", hidden: true });
    this.names = make("input", { type: "checkbox", checked: true, onchange: () => this.draw() });
    this.most = make("input", { type: "number", class: "most", min: 0, max: this.predicted.length / 2, step: 1,
      value: this.data.drawn, inputMode: "numeric", oninput: () => this.choose(this.table.shown),
      "aria-label": "Number of predicted links to draw, from the first rows of the table" });
    const tools = make("div", { class: "tools" },
      make("div", { class: "finder" }, this.finder, this.options),
      button("+", "Zoom in", () => this.zoom(1.4)), button("−", "Zoom out", () => this.zoom(1 / 1.4)),
      button("All", "Show the whole network", () => this.fit()),
      make("label", {}, this.names, " names"),
      make("label", { title: "From the first rows of the table as sorted and filtered; all links of a selected node are drawn" },
        "first ", this.most, " predicted links"),
      button("Save PNG", "Save the current view", () => this.canvas.toBlob((blob) => save("network.png", blob))));
    this.panel = make("section", { class: "panel", tabIndex: -1, "aria-live": "polite", "aria-label": "The selected node" });
    this.legend = make("p", { class: "legend" },
      make("span", { class: "key" }, make("span", { class: "line known" }), " known link"), " ",
      make("span", { class: "key" }, make("span", { class: "line predicted" }), " predicted link"), " ",
      ...this.data.groups.flatMap((name, k) => [make("span", { class: "key" },
        make("span", { class: "dot", style: `background: ${this.colour(k)}` }), ` ${visible(name)}`), " "]));
    const stage = make("div", { class: "stage" }, make("div", { class: "picture" }, this.canvas, this.legend), this.panel);
    this.root.querySelector(".still").replaceWith(tools, stage);
    this.root.classList.add("alive");
    this.describe();
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => this.release(event));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return; // the page scrolls
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.resize();
  }

  // The first matching rows, in the order of the table, are drawn.
  choose(rows) {
    const most = this.most.value === "" ? this.data.drawn : Number(this.most.value);
    this.drawn.fill(0);
    const first = rows.slice(0, Math.max(0, most));
    for (const r of first) this.drawn[r] = 1;
    this.lines = this.known.length / 2 + first.length;
    this.draw();
  }

  colour(k) { return this.data.colours[k % this.data.colours.length]; }

  // ------------------------------------------------------------------------------------------------------- the view

  resize() {
    const ratio = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    if (!box.width) return;
    const fresh = this.width === undefined;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    if (fresh) this.fit(); else this.draw();
  }

  fit() {
    if (!this.width) return;
    this.scale = 0.92 * Math.min(this.width, this.height);
    const middle = (values) => {
      let low = Infinity, high = -Infinity;
      for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
      return this.n ? (low + high) / 2 : 0.5;
    };
    this.left = this.width / 2 - this.scale * middle(this.x);
    this.top = this.height / 2 - this.scale * middle(this.y);
    this.draw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(Math.max(this.scale * factor, 0.3 * Math.min(this.width, this.height)), 400 * this.width);
    const change = scale / this.scale;
    this.left = x - (x - this.left) * change;
    this.top = y - (y - this.top) * change;
    this.scale = scale;
    this.draw();
  }

  // Select a node and zoom to it and its partners.
  around(i) {
    this.select(i);
    if (!this.width) return;
    const near = [i, ...this.partners(i)], least = 0.92 * Math.min(this.width, this.height);
    const [x, y] = [this.x, this.y].map((values) => {
      const at = near.map((j) => values[j]);
      return [Math.min(...at), Math.max(...at)];
    });
    const room = Math.min(this.width / (x[1] - x[0] + 1e-9), this.height / (y[1] - y[0] + 1e-9));
    this.scale = Math.min(Math.max(0.7 * room, least), 8 * least);
    this.left = this.width / 2 - this.scale * (x[0] + x[1]) / 2;
    this.top = this.height / 2 - this.scale * (y[0] + y[1]) / 2;
    this.draw();
  }

  px(i) { return this.left + this.scale * this.x[i]; }
  py(i) { return this.top + this.scale * this.y[i]; }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    if (!this.width) return;
    const pen = this.canvas.getContext("2d"), style = getComputedStyle(this.root);
    const of = (name) => style.getPropertyValue(name).trim();
    const [ink, muted, theirs, paper] = ["--ink", "--muted", "--theirs", "--paper"].map(of);
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.fillStyle = paper; // saved pictures include the background
    pen.fillRect(0, 0, this.width, this.height);
    const chosen = this.selected, faint = chosen !== null;
    const wide = Math.min(2, Math.max(0.6, this.scale / (450 * Math.sqrt(this.n / 100))));
    const stroke = (ends, colour, width, alpha, wanted) => {
      pen.beginPath();
      for (let e = 0; e < ends.length; e += 2) {
        const i = ends[e], j = ends[e + 1];
        if (!wanted(i, j, e / 2)) continue;
        const a = this.px(i), b = this.py(i), c = this.px(j), d = this.py(j);
        if ((a < 0 && c < 0) || (b < 0 && d < 0) || (a > this.width && c > this.width) || (b > this.height && d > this.height)) continue;
        pen.moveTo(a, b);
        pen.lineTo(c, d);
      }
      pen.globalAlpha = alpha;
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.stroke();
    };
    const crowd = Math.min(1, Math.sqrt(1500 / (1 + this.lines)));
    const mine = (i, j) => i === chosen || j === chosen;
    stroke(this.known, muted, wide, (faint ? 0.25 : 0.6) * crowd, (i, j) => !faint || !mine(i, j));
    stroke(this.predicted, theirs, wide, (faint ? 0.25 : 0.8) * crowd, (i, j, r) => this.drawn[r] && (!faint || !mine(i, j)));
    if (faint) {
      stroke(this.known, ink, 1.6 * wide + 0.4, 0.9, mine);
      stroke(this.predicted, theirs, 1.6 * wide + 0.4, 1, (i, j, r) => this.passing[r] && mine(i, j));
    }
    pen.globalAlpha = 1;
    const dot = Math.min(7, Math.max(1.5, this.scale / (10 * Math.sqrt(this.n))));
    this.dot = dot;
    for (let k = 0; k < Math.max(1, this.data.groups.length); k++) {
      pen.beginPath();
      for (let i = 0; i < this.n; i++) {
        if (this.data.group[i] !== k) continue;
        const a = this.px(i), b = this.py(i);
        if (a < -9 || b < -9 || a > this.width + 9 || b > this.height + 9) continue;
        if (dot < 2.2) pen.rect(a - dot, b - dot, 2 * dot, 2 * dot);
        else { pen.moveTo(a + dot, b); pen.arc(a, b, dot, 0, 7); }
      }
      pen.fillStyle = this.colour(k);
      pen.fill();
    }
    const near = chosen === null ? [] : [chosen, ...this.partners(chosen)];
    for (const i of near) {
      pen.beginPath();
      pen.arc(this.px(i), this.py(i), dot + (i === chosen ? 3 : 1.5), 0, 7);
      pen.strokeStyle = ink;
      pen.lineWidth = i === chosen ? 2.5 : 1.2;
      pen.stroke();
    }
    if (this.names.checked) this.label(pen, near, ink, paper);
  }

  // Names without overlap: the selected node and its partners first, then the nodes of highest degree.
  label(pen, near, ink, paper) {
    const size = 12, taken = [];
    const most = near.length ? 40 : Math.min(60, Math.max(8, (this.width * this.height) / 9000));
    pen.font = `${size}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    let count = 0;
    for (const list of [near, near.length ? [] : this.byDegree]) {
      for (const i of list) {
        if (count >= most) return;
        const a = this.px(i), b = this.py(i);
        if (a < 0 || b < 0 || a > this.width || b > this.height) continue;
        const whole = visible(this.data.names[i]), name = whole.length > 28 ? `${whole.slice(0, 27)}…` : whole;
        const w = pen.measureText(name).width, right = a + this.dot + 3;
        const x = right + w > this.width ? Math.max(0, a - this.dot - 3 - w) : right; // on the side with enough room
        const hit = taken.some(([l, t, r, u]) => x < r && x + w > l && b - size / 2 < u && b + size / 2 > t);
        if (hit && i !== this.selected) continue;
        taken.push([x, b - size / 2, x + w, b + size / 2]);
        pen.strokeStyle = paper;
        pen.strokeText(name, x, b);
        pen.fillStyle = ink;
        pen.fillText(name, x, b);
        count += 1;
      }
    }
  }

  // ----------------------------------------------------------------------------------------------- pointer and keyboard

  nearest(x, y, reach) {
    let best = null, least = reach * reach;
    for (let i = 0; i < this.n; i++) {
      const a = this.px(i) - x, b = this.py(i) - y, d = a * a + b * b;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }

  press(event) {
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    const reach = (event.pointerType === "touch" ? 20 : 8) + (this.dot || 2);
    this.held = this.pointers.size === 1 ? this.nearest(event.offsetX, event.offsetY, reach) : null;
    this.moved = 0;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.canvas.style.cursor = this.nearest(event.offsetX, event.offsetY, 8 + (this.dot || 2)) === null ? "grab" : "pointer";
      return;
    }
    const now = { x: event.offsetX, y: event.offsetY }, dx = now.x - before.x, dy = now.y - before.y;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const was = Math.hypot(before.x - other.x, before.y - other.y), is = Math.hypot(now.x - other.x, now.y - other.y);
      if (was > 0) this.zoom(is / was, (now.x + other.x) / 2, (now.y + other.y) / 2);
    } else if (this.held !== null && this.moved > 4) {
      this.x[this.held] += dx / this.scale;
      this.y[this.held] += dy / this.scale;
    } else if (this.held === null) {
      this.left += dx;
      this.top += dy;
    }
    this.pointers.set(event.pointerId, now);
    this.draw();
  }

  release(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (event.type === "pointerup" && this.moved <= 4 && this.pointers.size === 0) this.select(this.held);
    this.held = null;
  }

  key(event) {
    const step = 60, moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) { this.left += moves[event.key][0]; this.top += moves[event.key][1]; this.draw(); }
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.fit();
    else if (event.key === "Escape") this.select(null);
    else return;
    event.preventDefault();
  }

  suggest() {
    const asked = this.finder.value.toLowerCase().trim(), hits = [];
    if (asked) {
      for (const test of [(name) => name.startsWith(asked), (name) => !name.startsWith(asked) && name.includes(asked)]) {
        for (let i = 0; i < this.n && hits.length < 8; i++) if (test(this.lower[i])) hits.push(i);
      }
    }
    this.options.replaceChildren(...hits.map((i, k) => make("li", { role: "option", id: `${this.root.id}-o${k}`,
      "aria-selected": String(k === 0), onpointerdown: () => this.pick(i), data: { node: i } }, visible(this.data.names[i]))));
    this.options.hidden = !hits.length;
    this.finder.setAttribute("aria-expanded", String(hits.length > 0));
  }

  typed(event) {
    const items = [...this.options.children];
    const on = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
    if (event.key === "Enter" && on >= 0) this.pick(Number(items[on].dataset.node));
    else if (event.key === "Escape") this.options.hidden = true;
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && items.length) {
      const next = (on + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length;
      items.forEach((item, k) => item.setAttribute("aria-selected", String(k === next)));
      this.finder.setAttribute("aria-activedescendant", items[next].id);
    } else return;
    event.preventDefault();
  }

  pick(i) {
    this.options.hidden = true;
    this.finder.value = this.data.names[i];
    this.around(i);
  }

  select(i) {
    this.selected = i;
    if (i !== null && this.width) {
      const a = this.px(i), b = this.py(i);
      if (a < 20 || b < 20 || a > this.width - 20 || b > this.height - 20) {
        this.left += this.width / 2 - a;
        this.top += this.height / 2 - b;
      }
    }
    this.describe();
    this.draw();
  }
}
