import { useQuery } from "@tanstack/preact-query";
import { api } from "../../api/api.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { DescribedThings } from "./described-things.tsx";
import { FactList } from "./fact-list.tsx";

/** What GBFS publishes of the system, and of what belongs to it. */
export function SystemPage() {
  const access = useOperatorAccess();
  const systemId = access?.systemId ?? "";
  const { data } = useQuery({
    queryKey: ["gbfs-feeds", systemId],
    queryFn: ({ signal }) => api.descriptions.feeds({ params: { system_id: systemId }, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined) return <NotFoundPage />;
  return (
    <div class="stack">
      <PageHeader title="System">
        <span class="mono">{access.systemId}</span>, as readers of its feeds see it
        {data?.data.map(({ version, url }) => (
          <span key={version}>
            {" · "}
            <a href={url}>GBFS {version}</a>
          </span>
        ))}
      </PageHeader>
      <section class="stack">
        <h2>Facts</h2>
        <FactList access={access} kind="system" id="-" />
      </section>
      <DescribedThings access={access} kind="pricing_plan" title="Pricing plans" />
      <DescribedThings access={access} kind="vehicle_type" title="Vehicle types" />
      <DescribedThings access={access} kind="region" title="Regions" />
    </div>
  );
}
