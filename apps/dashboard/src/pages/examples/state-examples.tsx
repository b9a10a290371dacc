import { ApiError, ConnectionError } from "../../api/errors.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { Example } from "./example.tsx";

const tones: readonly (readonly [Tone, string])[] = [
  ["success", "Delivered"],
  ["warning", "Retrying"],
  ["danger", "Failed"],
  ["info", "Held"],
  ["neutral", "Not sent"],
  ["progress", "Sending"],
];

const failure = new ApiError("The database cannot be reached. Try again in a moment.", {
  status: 503,
  code: "unavailable",
  requestId: "req_01k3v8m2r7",
  retryAfterSeconds: 5,
});

/** The part of the page `/_components` (components-page.tsx) with status badges, notices and placeholders. */
export function StateExamples() {
  return (
    <>
      <Example name="Status, Notice">
        <div class="row">
          {tones.map(([tone, text]) => (
            <Status key={tone} tone={tone}>
              {text}
            </Status>
          ))}
        </div>
        {tones.map(([tone]) => (
          <Notice key={tone} tone={tone} title="The endpoint is paused." actions={<Button>Resume</Button>}>
            37 deliveries in a row have failed. They wait, and are sent when you resume.
          </Notice>
        ))}
      </Example>
      <Example name="EmptyState, ErrorState, Loading">
        <EmptyState title="No delivery yet" action={<Button variant="primary">Send a test</Button>}>
          Deliveries appear here as soon as something happens that you have subscribed to.
        </EmptyState>
        <ErrorState error={failure} onRetry={() => undefined} />
        <ErrorState error={new ConnectionError("The server could not be reached.")} />
        <Loading />
      </Example>
    </>
  );
}
