import { Link } from "wouter-preact";
import { Status } from "../../components/status.tsx";
import { type Tab, Tabs } from "../../components/tabs.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { type Access, useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { DescribedList } from "./described-list.tsx";
import { FactForm } from "./fact-form.tsx";
import { shortText } from "./fact-input.tsx";
import { type DescribedThing, ONLY, useDescribed } from "./facts-data.ts";
import { NextSteps } from "./next-steps.tsx";
import { priceInWords } from "./price-in-words.ts";
import { PublishedView } from "./published-view.tsx";
import { VehicleTypesView } from "./vehicle-types-view.tsx";
import { ZonesView } from "./zones-view.tsx";

/** The page "System": forms for what GBFS publishes about the system, and the resulting documents. */
export function SystemPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  return (
    <div class="stack">
      <PageHeader title="System">
        <span class="mono">{access.systemId}</span>, as riders see it in planners and other apps
      </PageHeader>
      <NextSteps systemId={access.systemId} />
      <Tabs
        label="Parts of the system"
        tabs={tabsOf(access)}
        selected={url.get("view") || "facts"}
        onSelect={(view) => url.filter({ view, item: "", new: "" })}
      />
    </div>
  );
}

function tabsOf(access: Access): Tab[] {
  return [
    { id: "facts", label: "Facts", content: () => <FactForm access={access} kind="system" id={ONLY} /> },
    { id: "plans", label: "Pricing plans", content: () => <PricingPlansView access={access} /> },
    { id: "types", label: "Vehicle types", content: () => <VehicleTypesView access={access} /> },
    { id: "regions", label: "Regions", content: () => <RegionsView access={access} /> },
    { id: "zones", label: "Zones", content: () => <ZonesView access={access} /> },
    { id: "published", label: "Published", content: () => <PublishedView access={access} /> },
  ];
}

interface ViewProps {
  readonly access: Access;
}

/** The view of pricing plans, each with the vehicle types that name it. */
function PricingPlansView({ access }: ViewProps) {
  const { things: types } = useDescribed(access.systemId, "vehicle_type");
  const typesWith = (plan: string) =>
    types?.filter(
      ({ published: { default_pricing_plan_id: id, pricing_plan_ids: ids = [] } }) => id === plan || ids.includes(plan),
    );
  return (
    <DescribedList
      access={access}
      kind="pricing_plan"
      view="plans"
      noun="pricing plan"
      idHint="Short and lasting, such as single-ride"
      empty="Without one, some planners show none of your bikes."
      columns={[
        { id: "price", title: "Price", cell: ({ published }) => priceInWords(published) },
        { id: "types", title: "Vehicle types", cell: ({ id }) => <TypesOfPlan types={typesWith(id)} /> },
      ]}
    />
  );
}

/** Lists the vehicle types that a pricing plan applies to. */
function TypesOfPlan({ types }: { readonly types: readonly DescribedThing<"vehicle_type">[] | undefined }) {
  const url = useUrlState();
  if (types === undefined) return null;
  if (types.length > 0) return types.map(({ id, published }) => shortText(published.name) ?? id).join(", ");
  return (
    <>
      <Status tone="warning">No vehicle type uses this plan yet</Status>{" "}
      <Link href={url.link("/operator/systems", { view: "types" })}>Set it</Link>
    </>
  );
}

function RegionsView({ access }: ViewProps) {
  return (
    <DescribedList
      access={access}
      kind="region"
      view="regions"
      noun="region"
      idHint="As your stations name it, such as north"
      empty="They come with the stations, or are added here."
      columns={[]}
    />
  );
}
