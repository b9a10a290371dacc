import type { ComponentChildren } from "preact";

/** The document's texts: paragraphs, lists and words of code. Of links, their words. */
export function Prose({ text }: { readonly text: string }) {
  const paragraphs = text.split(/\n{2,}/).filter((paragraph) => paragraph.trim() !== "");
  return (
    <>
      {paragraphs.map((paragraph) =>
        paragraph.startsWith("- ") ? (
          <ul key={paragraph}>
            {paragraph.split(/\n- |^- /).flatMap((item) => (item === "" ? [] : <li key={item}>{words(item)}</li>))}
          </ul>
        ) : (
          <p key={paragraph}>{words(paragraph)}</p>
        ),
      )}
    </>
  );
}

/** A text whose words of code are marked. */
export function words(text: string): ComponentChildren {
  return text
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .split("`")
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
