import { PageHeader } from "../../layout/page-header.tsx";
import { ActionExamples } from "./action-examples.tsx";
import { DataExamples } from "./data-examples.tsx";
import { StateExamples } from "./state-examples.tsx";
import { TableExamples } from "./table-examples.tsx";

/** The common components with their states, for those who build pages. In development only. */
export function ComponentsPage() {
  return (
    <>
      <PageHeader title="Components">What pages are made of. Each has its states below.</PageHeader>
      <ActionExamples />
      <StateExamples />
      <TableExamples />
      <DataExamples />
    </>
  );
}
