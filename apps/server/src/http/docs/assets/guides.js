// Sets the theme that the reader chose in the dashboard, before the page is drawn.
try {
  const theme = localStorage.getItem("bikeshare.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The browser stores nothing: the page has the system's theme.
}

addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll(".code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    /** @param {string} text */
    const say = (text) => {
      button.textContent = text;
      setTimeout(() => (button.textContent = "Copy"), 2000);
    };
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(block.querySelector("code").textContent).then(
        () => say("Copied"),
        () => say("Not copied"),
      );
    });
    block.prepend(button);
  }
});

// The key "/" moves to the search field, as on most documentation sites.
addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof Element && event.target.matches("input, textarea, [contenteditable]");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.getElementById("docs-query")?.focus();
});
