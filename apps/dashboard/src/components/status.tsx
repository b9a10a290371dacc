import type { ComponentChildren, JSX } from "preact";
import "./status.css";

/** How good or bad a state is. It decides the colour and the icon. */
export type Tone = "success" | "warning" | "danger" | "info" | "neutral" | "progress";

interface StatusProps {
  readonly tone: Tone;
  readonly children: ComponentChildren;
}

/** A state in a few words, with an icon. Each tone has its own shape, so that readers need not tell colours apart. */
export function Status({ tone, children }: StatusProps) {
  return (
    <span class={`status status-${tone}`}>
      <StatusMark tone={tone} />
      {children}
    </span>
  );
}

/** The icon alone, for places where a text beside it names the state. */
export function StatusMark({ tone }: Pick<StatusProps, "tone">) {
  return (
    <svg class={`status-mark tone-${tone}`} viewBox="0 0 12 12" aria-hidden="true">
      {marks[tone]}
    </svg>
  );
}

const marks: Readonly<Record<Tone, JSX.Element>> = {
  success: <path d="M2 6.4 4.8 9 10 3.4" fill="none" stroke="currentColor" stroke-width="1.8" />,
  warning: <path d="M6 1 11.4 10.8H.6z" fill="currentColor" />,
  danger: <path d="M2.5 2.5l7 7M9.5 2.5l-7 7" fill="none" stroke="currentColor" stroke-width="1.8" />,
  info: <rect x="2" y="2" width="8" height="8" rx="1.5" fill="currentColor" />,
  neutral: <path d="M1.5 6h9" fill="none" stroke="currentColor" stroke-width="1.8" />,
  progress: (
    <g fill="none" stroke="currentColor" stroke-width="1.8">
      <circle cx="6" cy="6" r="4.4" opacity="0.35" />
      <path d="M6 1.6A4.4 4.4 0 0 1 10.4 6" />
    </g>
  ),
};
