// The panel beside a network: the known and predicted partners of the selected node, with what speaks for them.

Object.assign(LiveNetwork.prototype, {
  partners(i) {
    const found = this.found[i].filter((r) => this.passing[r]).map((r) => this.other(r, i));
    return [...new Set([...found, ...this.links[i].keys()])];
  },

  other(r, i) { return this.predicted[2 * r] === i ? this.predicted[2 * r + 1] : this.predicted[2 * r]; },

  shared(i, j) {
    const [few, many] = this.links[i].size < this.links[j].size ? [this.links[i], this.links[j]] : [this.links[j], this.links[i]];
    return [...few.keys()].filter((k) => many.has(k));
  },

  describe() {
    const i = this.selected;
    if (i === null) {
      this.panel.replaceChildren(make("p", { class: "note" }, "Click a node, or find one by its name: here come its known and "
        + "predicted partners, with scores and what speaks for them. Drag to move, wheel or two fingers to zoom."));
      return;
    }
    const { names, groups, group } = this.data;
    const kind = groups.length ? `${groups[group[i]]}, ` : "";
    const known = [...this.links[i].keys()].sort((a, b) => this.links[i].get(b) - this.links[i].get(a) || a - b);
    const parts = [make("h3", {}, visible(names[i])),
      make("p", { class: "note" }, `${kind}${known.length} known and ${this.found[i].length} predicted partners`)];
    if (this.found[i].length) parts.push(make("h4", {}, "Predicted"), this.predictedList(i));
    if (known.length) parts.push(make("h4", {}, "Known"), this.knownList(i, known));
    this.panel.replaceChildren(...parts);
    this.panel.scrollTop = 0;
  },

  go(j) { return make("button", { type: "button", class: "name", onclick: () => this.select(j) }, visible(this.data.names[j])); },

  // Each predicted partner opens to what speaks for it: nodes known to both, then what the table says of its row.
  predictedList(i) {
    const columns = this.table.columns.filter((_, j) => !this.table.data.names.includes(j));
    const rows = this.found[i].slice(0, LISTED).map((r) => {
      const j = this.other(r, i), both = this.shared(i, j);
      const facts = columns.map((column) => `${column.name} ${column.text(r)}`).join(" · ");
      const why = make("details", { class: "why" }, make("summary", {}, facts));
      why.addEventListener("toggle", () => {
        if (why.childElementCount > 1) return;
        const told = this.data.across ? null : both.length ? `Known partners of both: ${both.slice(0, 12).map((k) => visible(this.data.names[k])).join(", ")}`
          + (both.length > 12 ? ` and ${both.length - 12} more.` : ".") : "They have no known partner in common.";
        why.append(...(told === null ? [] : [make("p", {}, told)]), ...this.table.explained(r));
      });
      return make("li", {}, this.go(j), why);
    });
    const more = this.found[i].length - rows.length;
    if (more > 0) rows.push(make("li", { class: "note" }, `and ${more} more: search the table for the name`));
    return make("ul", { class: "partners" }, ...rows);
  },

  knownList(i, known) {
    const rows = known.slice(0, LISTED).map((j) => {
      const both = this.shared(i, j).length, weight = this.data.weights ? ` · weight ${Number(this.links[i].get(j).toPrecision(4))}` : "";
      const common = this.data.across ? "" : both === 0 ? "no partner in common" : `${both} ${both === 1 ? "partner" : "partners"} in common`;
      return make("li", {}, this.go(j), make("span", { class: "note" }, ` ${common}${weight}`));
    });
    if (known.length > rows.length) rows.push(make("li", { class: "note" }, `and ${known.length - rows.length} more`));
    return make("ul", { class: "partners" }, ...rows);
  },
});
