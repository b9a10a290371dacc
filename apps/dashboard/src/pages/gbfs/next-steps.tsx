import type { FeedReport } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { Sentence } from "../../components/code.tsx";
import { StatusMark } from "../../components/status.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { OWN, type Place, PlaceLink, placeOf, useFeedQuality } from "./feed-check.tsx";

/** Most texts below one step. The page "Feed quality" lists all. */
const MAX_TEXTS = 3;

/**
 * A list of what journey planners cannot use from the feeds, grouped by the form that fixes it. Renders nothing if there is
 * no problem.
 */
export function NextSteps({ systemId }: { readonly systemId: string }) {
  const url = useUrlState();
  const { data } = useFeedQuality(systemId, OWN);
  const steps = data?.report ? stepsOf(data.report) : [];
  if (steps.length === 0) return null;
  return (
    <section class="card stack">
      <div class="row">
        <h2>What planners miss</h2>
        <Link href={url.link("/operator/feed-quality")}>All of Feed quality</Link>
      </div>
      <ol class="steps">
        {steps.map(({ place, texts }) => (
          <li key={place.label}>
            <StatusMark tone="warning" />
            <div>
              <PlaceLink place={place} />
              {texts.slice(0, MAX_TEXTS).map((text) => (
                <div key={text} class="muted">
                  <Sentence>{text}</Sentence>
                </div>
              ))}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

interface Step {
  readonly place: Place;
  readonly texts: readonly string[];
}

/**
 * Returns what planners lose (from their verdicts), and the errors and warnings among the findings, grouped by the form that
 * fixes them. Leaves out what no form fixes.
 */
function stepsOf({ verdicts, findings }: FeedReport): readonly Step[] {
  const losses = verdicts.flatMap(({ name, losses: of }) =>
    of.map(({ text, fix }) => ({ text: `${name} ${text}.`, place: placeOf(fix) })),
  );
  const problems = findings
    .filter(({ severity }) => severity !== "note")
    .map(({ text, file, path, fix }) => ({ text, place: placeOf(`${file} ${path} ${fix}`) }));
  const steps = new Map<string, { place: Place; texts: string[] }>();
  for (const { text, place } of [...losses, ...problems]) {
    if (place === undefined) continue;
    const step = steps.get(place.label) ?? { place, texts: [] };
    if (!step.texts.includes(text)) step.texts.push(text);
    steps.set(place.label, step);
  }
  return [...steps.values()];
}
