import type { RequestDetail, ShownKey } from "@bikeshare/contract/console";
import { type ErrorCode, errorCatalogue } from "@bikeshare/contract/pure";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { keyName } from "../key-name.ts";
import { addressIn, type PageScope } from "../scope.ts";
import { RefusedRequest } from "./refused-request.tsx";
import { RequestStatus } from "./request-status.tsx";

interface RequestDetailsProps {
  readonly id: string;
  readonly scope: PageScope;
  readonly keys: readonly ShownKey[];
  readonly onClose: () => void;
}

/**
 * The panel of one request: its facts and, if it failed, what the error means, how to fix it, and as much of request and
 * response as was kept.
 */
export function RequestDetails({ id, scope, keys, onClose }: RequestDetailsProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["request", scope.systemId, scope.partnerId, id],
    queryFn: ({ signal }) => readRequest(id, scope, signal),
    staleTime: Infinity,
  });
  return (
    <Dialog title="Request" isOpen onClose={onClose}>
      {data === undefined &&
        (error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data !== undefined && (
        <Details request={data} scope={scope} shownKey={keys.find((key) => key.id === data.key_id)} />
      )}
    </Dialog>
  );
}

function readRequest(id: string, { systemId, partnerId }: PageScope, signal: AbortSignal) {
  return partnerId === undefined
    ? api.systemRequests.get({ params: { system_id: systemId, id }, signal })
    : api.partnerRequests.get({ params: { system_id: systemId, partner_id: partnerId, id }, signal });
}

interface DetailsProps {
  readonly request: RequestDetail;
  readonly scope: PageScope;
  readonly shownKey: ShownKey | undefined;
}

function Details({ request, scope, shownKey }: DetailsProps) {
  return (
    <>
      <p class="request-line">
        <RequestStatus request={request} />
        <code class="mono">
          {request.method} {request.route}
        </code>
      </p>
      <Explanation request={request} />
      <dl class="fact-rows">
        <dt>Time</dt>
        <dd>
          <Time at={request.at} show="both" />
        </dd>
        <dt>Took</dt>
        <dd>{durationText(request.ms)}</dd>
        <dt>Request-Id</dt>
        <dd class="mono">
          {request.id} <CopyButton text={request.id} label="Copy Request-Id" />
        </dd>
        <dt>Key</dt>
        <dd>
          <Link href={addressIn(scope, "keys", { key: request.key_id })}>
            {shownKey === undefined ? request.key_id : keyName(shownKey)}
          </Link>
        </dd>
        <dt>From</dt>
        <dd class="mono">{request.address}</dd>
      </dl>
      <RefusedRequest request={request} />
    </>
  );
}

/** Explains an error code with the text of the contract's catalogue. */
function Explanation({ request: { error, status, message } }: Pick<DetailsProps, "request">) {
  if (error === null) return status < 400 ? null : <Notice tone="warning">The response had no error code.</Notice>;
  const entry = isErrorCode(error) ? errorCatalogue[error] : undefined;
  return (
    <Notice tone={status >= 500 ? "danger" : "warning"} title={error}>
      {entry === undefined ? (
        "Unknown error code: reload the page for the latest version."
      ) : (
        <>
          <p>{message ?? plain(entry.meaning)}</p>
          <p>
            <strong>What to do:</strong> {plain(entry.action)}
          </p>
        </>
      )}
    </Notice>
  );
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

/** Removes the backticks of Markdown, in which the catalogue is written. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}

/** Returns a duration as `0.8 ms`, `12 ms` or `1.2 s`. */
export function durationText(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
