import type { FactsOf } from "@bikeshare/contract/facts";
import { Link } from "wouter-preact";
import { StatusMark } from "../../components/status.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { type DescribedThing, useDescribed } from "./facts-data.ts";
import { isWhole } from "./vehicle-types-view.tsx";

interface Step {
  readonly view: string;
  readonly title: string;
  /** What riders do not see until it is done. */
  readonly loss: string;
  readonly isDone: boolean;
}

/** What planners lose as the facts are now, and the form that mends each; nothing where they lose nothing. */
export function NextSteps({ systemId }: { readonly systemId: string }) {
  const url = useUrlState();
  const [system] = useDescribed(systemId, "system").things ?? [];
  const { things: plans } = useDescribed(systemId, "pricing_plan");
  const { things: types } = useDescribed(systemId, "vehicle_type");
  if (system === undefined || plans === undefined || types === undefined) return null;
  const steps = stepsOf(system.published, plans.length, types);
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <section class="card stack">
      <div class="row">
        <h2>What planners miss</h2>
        <Link href={url.link("/operator/feed-quality")}>What each shows</Link>
      </div>
      <ol class="steps">
        {steps.map(({ view, title, loss, isDone }) => (
          <li key={title}>
            <StatusMark tone={isDone ? "success" : "warning"} />
            <div>
              <Link href={url.link("/operator/systems", { view })}>{title}</Link>
              {isDone ? <span class="muted"> · done</span> : <div class="muted">{loss}</div>}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function stepsOf(
  system: FactsOf<"system">,
  plans: number,
  types: readonly DescribedThing<"vehicle_type">[],
): readonly Step[] {
  const { station_links: links, rental_apps: apps, published_id: id, feed_contact_email: contact } = system;
  return [
    { view: "plans", title: "Add a pricing plan", loss: "Without one, lamassu shows nothing", isDone: plans > 0 },
    {
      view: "types",
      title: "Give each vehicle type its plan, return and range",
      loss: "lamassu shows no vehicle without a plan; without the rest, planners guess",
      isDone: types.every(isWhole),
    },
    {
      view: "facts",
      title: "Name your apps, and the links to stations",
      loss: "Without them, Google and others cannot lead a rider to you",
      isDone: links !== undefined && apps !== undefined,
    },
    {
      view: "facts",
      title: "Choose a system id and a feed contact",
      loss: "Planners store by the id, which must be the only one in the world",
      isDone: id !== "main" && contact !== undefined,
    },
  ];
}
