import { Status } from "../../components/status.tsx";
import type { Access } from "../../session/session.ts";
import { DescribedList } from "./described-list.tsx";
import { type DescribedThing, useChoices } from "./facts-data.ts";
import { inWords } from "./words.ts";

type VehicleType = DescribedThing<"vehicle_type">;

/**
 * A list of all vehicle types, with the facts (values that GBFS publishes) that journey planners need. Marks those that are
 * missing, and those that the feed guesses: the return rule by where the bikes are, and an unknown form as a bicycle
 * without a motor.
 */
export function VehicleTypesView({ access }: { readonly access: Access }) {
  const plans = useChoices(access.systemId, "pricing_plan");
  const planName = (id: string | undefined) => plans.find(({ value }) => value === id)?.label ?? id;
  return (
    <DescribedList
      access={access}
      kind="vehicle_type"
      view="types"
      noun="vehicle type"
      idHint="As your bikes name it, such as ebike"
      empty="They come with the bikes, or are added here."
      columns={[
        {
          id: "form",
          title: "Form",
          cell: ({ published: { form_factor: form, propulsion_type: power } }) =>
            shownOr(form && power && `${inWords(form)}, ${inWords(power)}`, "guessed"),
        },
        {
          id: "plan",
          title: "Pricing plan",
          cell: ({ published }) => shownOr(planName(published.default_pricing_plan_id), "missing"),
        },
        {
          id: "return",
          title: "Return",
          cell: ({ published: { return_constraint: where } }) => shownOr(where && inWords(where), "guessed"),
        },
        { id: "range", title: "Range", cell: (type) => rangeOf(type) },
      ]}
    />
  );
}

function rangeOf({ published }: VehicleType) {
  const { max_range_meters: range, propulsion_type: power = "human" } = published;
  if (range !== undefined) return `${range.toLocaleString("en")} m`;
  return power === "human" ? <span class="muted">needs none</span> : shownOr(undefined, "missing");
}

function shownOr(text: string | undefined, otherwise: string) {
  return text === undefined ? <Status tone="warning">{otherwise}</Status> : text;
}
