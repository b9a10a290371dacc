import type { ShownAct } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { CopyButton } from "../../components/copy-button.tsx";
import type { Column } from "../../components/table.tsx";
import { Time, timedText } from "../../components/time.tsx";
import type { UrlState } from "../../layout/url-state.ts";
import "./audit.css";

/**
 * Returns the columns of an audit log.
 * @param url makes the links to partners and subjects; undefined on a partner's pages, which have no such links
 */
export function actColumns(url: UrlState | undefined): readonly Column<ShownAct>[] {
  const columns: readonly Column<ShownAct>[] = [
    { id: "action", title: "Action", cell: ({ action }) => <span class="act-name">{action}</span> },
    { id: "actor", title: "Who", cell: (act) => <Actor act={act} /> },
    { id: "at", title: "Time", cell: ({ at }) => <Time at={at} /> },
    { id: "subject", title: "Subject", cell: (act) => <Subject act={act} url={url} /> },
    { id: "detail", title: "Details", cell: ({ detail }) => <Detail detail={detail} />, isSecondary: true },
  ];
  return columns;
}

/** Shows who acted: a person's name, or else the actor as the log names it. */
function Actor({ act: { actor, actor_name: name } }: { readonly act: ShownAct }) {
  if (name !== null) return <span title={actor}>{name}</span>;
  // Partners see `cli` for everybody who runs commands of the service.
  if (actor === "cli") return <>the operator</>;
  return <span class="mono">{actor}</span>;
}

interface SubjectProps {
  readonly act: ShownAct;
  readonly url: UrlState | undefined;
}

/** Shows what the action was done to: its name, with its id as a tooltip and to copy. */
function Subject({ act: { subject, subject_name: name, partner_id }, url }: SubjectProps) {
  const text = name ?? subject;
  const attributes = { className: name === null ? "mono" : undefined, title: subject };
  const address =
    subject === partner_id
      ? url?.link(`/operator/partners/${encodeURIComponent(subject)}`)
      : url?.link("/operator/audit", { subject });
  return (
    <span class="act-subject">
      {address === undefined ? (
        <span {...attributes}>{text}</span>
      ) : (
        <Link href={address} {...attributes}>
          {text}
        </Link>
      )}
      {name !== null && <CopyButton text={subject} label={`Copy the id ${subject}`} />}
    </span>
  );
}

/** Details with more entries or characters are collapsed, because they would make the row too tall. */
const SHOWN_ENTRIES = 3;
const SHOWN_LENGTH = 160;

function Detail({ detail }: Pick<ShownAct, "detail">) {
  // Some details repeat the `partner_id` of the entry.
  const entries = Object.entries(detail).filter(([name, value]) => value !== null && name !== "partner_id");
  if (entries.length === 0) return null;
  const texts = entries.map(([name, value]) => `${name}: ${valueText(value)}`);
  const all = texts.join(", ");
  if (texts.length <= SHOWN_ENTRIES && all.length <= SHOWN_LENGTH) return <span class="act-detail">{all}</span>;
  return (
    <details class="act-detail">
      <summary>{texts.slice(0, 2).join(", ").slice(0, SHOWN_LENGTH)} …</summary>
      {texts.map((text) => (
        <div key={text}>{text}</div>
      ))}
    </details>
  );
}

function valueText(value: unknown): string {
  return timedText(typeof value === "string" ? value : JSON.stringify(value));
}
