/**
 * A document that holds what components render, for tests without a browser. It has the parts of the DOM that Preact and the
 * tests use: elements with attributes, texts, listeners, and selectors of names, classes and attributes.
 */
import { type ComponentChild, render } from "preact";
import { onTestFinished, vi } from "vitest";

class FakeNode {
  parentNode: FakeElement | null = null;
  readonly nodeType: number;
  /** The text of a text node. */
  data = "";

  constructor(nodeType: number) {
    this.nodeType = nodeType;
  }

  get nextSibling(): FakeNode | null {
    const siblings = this.parentNode?.childNodes ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  get textContent(): string {
    return this.data;
  }

  remove(): void {
    const siblings = this.parentNode?.childNodes ?? [];
    if (siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
    this.parentNode = null;
  }
}

/** An element of the fake document. */
export class FakeElement extends FakeNode {
  readonly childNodes: FakeNode[] = [];
  readonly style = { setProperty() {} };
  readonly localName: string;
  readonly namespaceURI: string;
  /** How often `click` was called. */
  clicks = 0;
  readonly #attributes = new Map<string, string>();

  constructor(localName: string, namespaceURI = "http://www.w3.org/1999/xhtml") {
    super(1);
    this.localName = localName;
    this.namespaceURI = namespaceURI;
  }

  get firstChild(): FakeNode | null {
    return this.childNodes[0] ?? null;
  }

  override get textContent(): string {
    return this.childNodes.map(({ textContent }) => textContent).join("");
  }

  insertBefore(node: FakeNode, next: FakeNode | null): void {
    node.remove();
    this.childNodes.splice(next === null ? this.childNodes.length : this.childNodes.indexOf(next), 0, node);
    node.parentNode = this;
  }

  setAttribute(name: string, value: unknown): void {
    this.#attributes.set(name, String(value));
  }

  removeAttribute(name: string): void {
    this.#attributes.delete(name);
  }

  getAttribute(name: string): string | null {
    return this.#attributes.get(name) ?? null;
  }

  addEventListener(): void {}

  removeEventListener(): void {}

  click(): void {
    this.clicks++;
  }

  /** Finds the elements below this one by a selector such as `main search .chip [name=q]`. */
  querySelectorAll(selector: string): readonly FakeElement[] {
    const elements = this.childNodes.filter((node) => node instanceof FakeElement);
    return elements.flatMap((each) => [
      ...(each.#matches(selector.split(" ")) ? [each] : []),
      ...each.querySelectorAll(selector),
    ]);
  }

  querySelector(selector: string): FakeElement | null {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  /** Tells whether the element matches the last part, and its ancestors those before it. */
  #matches(parts: readonly string[]): boolean {
    const last = parts.at(-1);
    if (last === undefined) return true;
    if (!this.#isOne(last)) return false;
    const before = parts.slice(0, -1);
    let above = this.parentNode;
    while (before.length > 0 && above !== null && !above.#matches(before)) above = above.parentNode;
    return before.length === 0 || above !== null;
  }

  #isOne(part: string): boolean {
    const [, className] = /^\.([\w-]+)$/.exec(part) ?? [];
    const [, name, value] = /^\[([\w-]+)=([\w-]+)\]$/.exec(part) ?? [];
    if (className !== undefined) return (this.getAttribute("class") ?? "").split(" ").includes(className);
    return name === undefined ? this.localName === part : this.getAttribute(name) === value;
  }
}

/** Renders a component into a fake document until the test is over. @returns the body of the document */
export function renderIn(content: ComponentChild): FakeElement {
  const root = new FakeElement("html");
  const body = new FakeElement("body");
  root.insertBefore(body, null);
  vi.stubGlobal("document", {
    createElementNS: (namespace: string, name: string) => new FakeElement(name, namespace),
    createTextNode: (data: string) => Object.assign(new FakeNode(3), { data }),
    querySelector: (selector: string) => root.querySelector(selector),
  });
  // Preact uses only the members that the fake has.
  const container = body as unknown as Element;
  render(content, container);
  onTestFinished(() => {
    render(null, container);
    vi.unstubAllGlobals();
  });
  return body;
}
