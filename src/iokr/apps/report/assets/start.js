// Create all interactive tables and networks of the page; `window.iokr` gives access to them.
const tables = new Map();
for (const root of document.querySelectorAll("[data-live=table]")) {
  tables.set(root.id, new LiveTable(root, JSON.parse(document.getElementById(`${root.id}-data`).textContent)));
}
const networks = [];
for (const root of document.querySelectorAll("[data-live=network]")) {
  const data = JSON.parse(document.getElementById(`${root.id}-data`).textContent);
  networks.push(new LiveNetwork(root, data, tables.get(data.table)));
}
window.iokr = { tables: [...tables.values()], networks };
