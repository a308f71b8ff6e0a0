// Adds a button to each block of code that copies the code without prompts and output.
(function () {
  "use strict";
  function typed(block) {
    const lines = block.innerText.replace(/\n$/, "").split("\n");
    const prompt = lines.some((line) => /^>>> /.test(line)) ? /^(?:>>>|\.\.\.)(?: |$)/
      : lines.some((line) => /^\$ /.test(line)) ? /^\$ / : null;
    if (!prompt) return lines.join("\n");
    const kept = [];
    let continued = false;
    for (const line of lines) {
      if (prompt.test(line)) kept.push(line.replace(prompt, ""));
      else if (continued) kept.push(line);
      else continue;
      continued = /\\$/.test(line);
    }
    return kept.join("\n");
  }
  async function copy(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");  // pages opened from a file
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  document.addEventListener("DOMContentLoaded", () => {
    for (const block of document.querySelectorAll("div.highlight > pre")) {
      if (block.closest(".sphx-glr-script-out, .highlight-none, .highlight-text")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "copy";
      button.setAttribute("aria-label", "Copy this code");
      button.addEventListener("click", async () => {
        try {
          await copy(typed(block));
          button.textContent = "copied";
        } catch {
          button.textContent = "select and copy by hand";
        }
        setTimeout(() => { button.textContent = "copy"; }, 1500);
      });
      block.parentElement.append(button);
    }
  });
})();
