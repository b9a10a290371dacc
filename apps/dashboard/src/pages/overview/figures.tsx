import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";

/** A number with its label. */
export interface Figure {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: string;
  /** Highlights the figure. */
  readonly isBad?: boolean;
  /** The page that lists the counted items. */
  readonly href?: string;
}

interface FiguresProps {
  readonly title: string;
  readonly figures: readonly Figure[];
  /** Content below the figures. */
  readonly children?: ComponentChildren;
}

/** A card with related numbers in a row. */
export function Figures({ title, figures, children }: FiguresProps) {
  return (
    <section class="card figures" aria-label={title}>
      <h2>{title}</h2>
      <dl>
        {figures.map(({ label, value, note, isBad, href }) => (
          <div key={label} class="figure">
            <dt>{label}</dt>
            <dd>
              <span class={isBad === true ? "figure-value figure-bad" : "figure-value"}>
                {href === undefined ? value : <Link href={href}>{value}</Link>}
              </span>
              {note !== undefined && <span class="muted">{note}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {children}
    </section>
  );
}

/** Returns a share as `1.2 %`; a dash if the whole is 0. */
export function shareText(part: number, whole: number): string {
  if (whole === 0) return "–";
  const percent = (part / whole) * 100;
  if (part > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent.toLocaleString("en", { maximumFractionDigits: 1 })} %`;
}
