import type { FeedFinding, FeedReport, FeedSeverity, FeedVerdict } from "@bikeshare/contract/console";
import { Sentence } from "../../components/code.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status, StatusMark, type Tone } from "../../components/status.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess } from "../../session/session.ts";
import { OWN, type Place, PlaceLink, placeOf, useFeedQuality } from "../gbfs/feed-check.tsx";
import { NotFoundPage } from "../not-found-page.tsx";
import "./feed-quality-page.css";

/**
 * The page "Feed quality": what journey planners can use of the feeds that the system publishes and follows. A report has a
 * verdict for each planner (how much of the feed it shows) and findings (what to change in the feed).
 */
export function FeedQualityPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  const own = useFeedQuality(access?.systemId, OWN);
  if (access === undefined) return <NotFoundPage />;
  const { data, error, refetch } = own;
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  const tab = (id: string, label: string) => ({
    id,
    label,
    content: () => <Checked key={id} systemId={access.systemId} source={id} />,
  });
  return (
    <div class="stack">
      <PageHeader title="Feed quality">
        What journey planners show of your feeds, and what to change. A result is kept for 3 minutes.
      </PageHeader>
      {data.sources.length === 0 ? (
        <Checked systemId={access.systemId} source={OWN} />
      ) : (
        <Tabs
          label="Feeds"
          tabs={[tab(OWN, "Published"), ...data.sources.map((name) => tab(name, `Source: ${name}`))]}
          selected={url.get("source")}
          onSelect={(source) => url.filter({ source })}
        />
      )}
    </div>
  );
}

function Checked({ systemId, source }: { readonly systemId: string; readonly source: string }) {
  const { data, error, refetch } = useFeedQuality(systemId, source);
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data.report === null) {
    return (
      <Notice tone="danger" title="This feed cannot be read">
        {data.failure}
      </Notice>
    );
  }
  return <Report report={data.report} />;
}

function Report({ report }: { readonly report: FeedReport }) {
  const { findings, verdicts, passed } = report;
  const isOwn = report.kind === "own";
  return (
    <div class="stack">
      <p class="muted">
        {report.system_name ?? report.system_id}, GBFS {report.version}, checked <Time at={report.checked_at} />
      </p>
      <section class="stack">
        <h2>What planners show</h2>
        <div class="verdicts">
          {verdicts.map((verdict) => (
            <Verdict key={verdict.consumer} verdict={verdict} isOwn={isOwn} />
          ))}
        </div>
      </section>
      <section class="stack">
        <h2>What to change</h2>
        {findings.length === 0 ? (
          <EmptyState title="Nothing to change">The feed is as its specification wants it.</EmptyState>
        ) : (
          <ol class="feed-findings">
            {findings.map((finding) => (
              <Finding
                key={`${finding.rule} ${finding.file} ${finding.path} ${finding.text}`}
                finding={finding}
                isOwn={isOwn}
              />
            ))}
          </ol>
        )}
      </section>
      {passed.length > 0 && (
        <section class="stack">
          <h2>What is fine</h2>
          <ul class="feed-passed">
            {passed.map((text) => (
              <li key={text}>
                <StatusMark tone="success" />
                {text}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

const states: Readonly<Record<FeedVerdict["state"], readonly [tone: Tone, word: string]>> = {
  complete: ["success", "shows all"],
  partial: ["warning", "loses something"],
  nothing: ["danger", "shows nothing"],
};

interface VerdictProps {
  readonly verdict: FeedVerdict;
  /** Whether the feed is the system's own, so that forms of the dashboard can fix it. */
  readonly isOwn: boolean;
}

function Verdict({ verdict: { name, about, state, stations, vehicles, losses }, isOwn }: VerdictProps) {
  const [tone, word] = states[state];
  return (
    <article class="verdict">
      <div class="verdict-head">
        <h3>{name}</h3>
        <Status tone={tone}>{word}</Status>
      </div>
      <p class="muted">{about}</p>
      <Share noun="Stations" of={stations} />
      <Share noun="Vehicles" of={vehicles} />
      {losses.map(({ text, fix }) => (
        <p key={text}>
          <strong>
            <Sentence>{`${text.charAt(0).toUpperCase()}${text.slice(1)}.`}</Sentence>
          </strong>{" "}
          <span class="muted">
            <Sentence>{fix}</Sentence>
          </span>
          {isOwn && <FormLink place={placeOf(fix)} />}
        </p>
      ))}
    </article>
  );
}

/** A bar: how many of the feed's stations or vehicles a planner shows. */
function Share({ noun, of: { shown, of: total } }: { readonly noun: string; readonly of: FeedVerdict["stations"] }) {
  if (total === 0) return null;
  return (
    <div class="share">
      <span class="muted">{noun}</span>
      <progress max={total} value={shown} aria-label={noun} />
      <span>
        {shown.toLocaleString("en-US")} of {total.toLocaleString("en-US")}
      </span>
    </div>
  );
}

const severities: Readonly<Record<FeedSeverity, readonly [tone: Tone, word: string]>> = {
  error: ["danger", "error"],
  warning: ["warning", "warning"],
  note: ["info", "note"],
};

interface FindingProps {
  readonly finding: FeedFinding;
  readonly isOwn: boolean;
}

/** A link to the form that fixes a problem. Renders nothing if there is no such form. */
function FormLink({ place }: { readonly place: Place | undefined }) {
  if (place === undefined) return null;
  return (
    <>
      {" "}
      <PlaceLink place={place} text={place.view === undefined ? place.label : `System → ${place.label}`} />
    </>
  );
}

function Finding({ finding, isOwn }: FindingProps) {
  const { severity, text, fix, file, path, count, examples } = finding;
  const [tone, word] = severities[severity];
  const shown = examples.flatMap(({ id, value }) => {
    const parts = [id, value].filter((part) => part !== null);
    return parts.length === 0 ? [] : [parts.join(": ")];
  });
  return (
    <li>
      <Status tone={tone}>{word}</Status>
      <div>
        <strong>
          <Sentence>{text}</Sentence>
        </strong>
        <div>
          <Sentence>{fix}</Sentence>
          {isOwn && <FormLink place={placeOf(`${file} ${path} ${fix}`)} />}
        </div>
        <div class="muted">
          <span class="mono">{[file, path].filter((part) => part !== "").join(" ")}</span>
          {count > 1 && <> · {count.toLocaleString("en-US")} times</>}
        </div>
        {shown.length > 0 && <div class="muted mono">{shown.join(" · ")}</div>}
      </div>
    </li>
  );
}
