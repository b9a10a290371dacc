import { expect, it } from "vitest";
import { shownValues } from "./metrics.ts";

it("reads the shown metrics of a Prometheus page, and adds up the series of each", () => {
  const page = `# HELP process_cpu_seconds_total Total
process_cpu_seconds_total 1.5
bikeshare_database_connections{pool="general",state="in_use"} 3
bikeshare_database_connections{pool="vital",state="in_use"} 1
bikeshare_database_connections{pool="vital",state="idle"} 7
bikeshare_webhook_attempts_total{outcome="succeeded",failure="none"} 40
bikeshare_webhook_attempts_total{outcome="failed",failure="dns"} 2
nodejs_version_info{version="v24"} 1
`;
  expect(Object.fromEntries(shownValues(page))).toEqual({
    process_cpu_seconds_total: 1.5,
    'bikeshare_database_connections{state="in_use"}': 4,
    bikeshare_webhook_attempts_total: 42,
  });
});
