// The panel next to a network: the known and predicted partners of the selected node, with evidence.

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
      this.panel.replaceChildren(make("p", { class: "note" }, "Click a node or search for it to list its known and predicted "
        + "partners with scores and evidence. Drag to pan; scroll or pinch to zoom."));
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

  common(nodes) {
    if (!nodes.length) return "No known partner in common.";
    const names = nodes.slice(0, COMMON).map((k) => visible(this.data.names[k])).join(", ");
    const more = nodes.length > COMMON ? ` and ${nodes.length - COMMON} more` : "";
    return `Known partners in common: ${names}${more}.`;
  },

  // Each predicted partner expands to its evidence: common partners, then the details of its row in the table.
  predictedList(i) {
    const columns = this.table.columns.filter((_, j) => !this.table.data.names.includes(j));
    const rows = this.found[i].slice(0, LISTED).map((r) => {
      const j = this.other(r, i), both = this.shared(i, j);
      const facts = columns.map((column) => `${column.name} ${column.text(r)}`).join(" · ");
      const why = make("details", { class: "why" }, make("summary", {}, facts));
      why.addEventListener("toggle", () => {
        if (why.childElementCount > 1) return;
        if (!this.data.across) why.append(make("p", {}, this.common(both)));
        why.append(...this.table.explained(r));
      });
      return make("li", {}, this.go(j), why);
    });
    const more = this.found[i].length - rows.length;
    if (more > 0) rows.push(make("li", { class: "note" }, `and ${more} more; search for the name in the table`));
    return make("ul", { class: "partners" }, ...rows);
  },

  knownList(i, known) {
    const rows = known.slice(0, LISTED).map((j) => {
      const both = this.shared(i, j).length;
      const weight = this.data.weights ? ` · weight ${Number(this.links[i].get(j).toPrecision(4))}` : "";
      let common = `${both || "no"} ${both > 1 ? "partners" : "partner"} in common`;
      if (this.data.across) common = "";
      return make("li", {}, this.go(j), make("span", { class: "note" }, ` ${common}${weight}`));
    });
    if (known.length > rows.length) rows.push(make("li", { class: "note" }, `and ${known.length - rows.length} more`));
    return make("ul", { class: "partners" }, ...rows);
  },
});
