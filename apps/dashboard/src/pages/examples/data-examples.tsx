import { Bytes } from "../../components/bytes.tsx";
import { Chart } from "../../components/chart.tsx";
import { Code } from "../../components/code.tsx";
import { Time } from "../../components/time.tsx";
import { Example } from "./example.tsx";

/** Has U+202E, which reverses the text after it: `Code` must not let a sender hide what a body says. */
const body = '{"id":"evt_01k3v8m2r7qa","type":"ride.ended","data":{"id":"ride_7","note":"\u202edlrow"}}\n';
const times = Array.from({ length: 60 }, (_, minute) => new Date(Date.UTC(2026, 10, 22, 8, minute)).toISOString());
const requests = times.map((_, minute) => Math.round(40 + 18 * Math.sin(minute / 5)));
const failures = times.map((_, minute) => (minute > 40 && minute < 47 ? 6 : 0));

/** The part of the page `/_components` (components-page.tsx) with times, code, bytes and a chart. */
export function DataExamples() {
  return (
    <>
      <Example name="Time">
        <div class="row">
          <Time at="2026-11-22T09:04:05.123Z" />
          <Time at="2026-11-22T09:04:05.123Z" show="both" />
          <Time at="2026-11-22T09:04:05.123Z" show="relative" />
          <Time at={null} />
        </div>
      </Example>
      <Example name="Code, Bytes">
        <Code text={body} label="The body that was sent" />
        <Bytes bytes={new TextEncoder().encode(body)} label="The bytes that were sent" />
      </Example>
      <Example name="Chart">
        <Chart
          title="Requests per minute"
          unit="requests"
          times={times}
          series={[
            { label: "Answered", values: requests },
            { label: "Failed", values: failures },
          ]}
          limit={{ value: 60, label: "Limit: 60" }}
        />
      </Example>
    </>
  );
}
