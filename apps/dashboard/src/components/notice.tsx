import type { ComponentChildren } from "preact";
import { StatusMark, type Tone } from "./status.tsx";
import "./notice.css";

interface NoticeProps {
  readonly tone: Tone;
  readonly title?: string;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
}

/** Important information: a box with an icon, a sentence and actions. */
export function Notice({ tone, title, children, actions }: NoticeProps) {
  return (
    <div class={`notice notice-${tone}`}>
      <StatusMark tone={tone} />
      <div class="notice-text">
        {title !== undefined && <strong>{title}</strong>}
        <div>{children}</div>
      </div>
      {actions !== undefined && <div class="row">{actions}</div>}
    </div>
  );
}
