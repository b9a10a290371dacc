import { useQuery } from "@tanstack/preact-query";
import { useEffect, useRef } from "preact/hooks";
import { Link } from "wouter-preact";
import { ConnectionError } from "../../api/errors.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Loading } from "../../components/loading.tsx";
import { isEmbedded } from "../../embedding.ts";
import { useHasDocument } from "../../layout/has-document.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type Scope, useOperatorScope, usePartnerScope } from "../scope.ts";
import { EndpointDetails } from "./endpoint-details.tsx";
import { EndpointList } from "./endpoint-list.tsx";
import { type Endpoint, endpointsOf, matchesEndpoint, type OpenApiDocument } from "./openapi.ts";
import { type KeyScopes, ScopeNote, useKeyScopes } from "./scope-note.tsx";
import "./reference.css";

/** Each interface: its document, and the page at which all of it can be read. */
const INTERFACES = {
  partners: { label: "For partners", document: "/openapi.json", reference: "/docs/reference" },
  gbfs: { label: "Public feeds (GBFS)", document: "/openapi/gbfs.json", reference: "/docs/reference" },
  operator: { label: "For the operator’s backend", document: "/openapi/operator.json", reference: "/docs/operator" },
} as const;
type Interface = keyof typeof INTERFACES;

/** No frame may show other documents of the service. */
const TARGET = isEmbedded ? "_blank" : undefined;

/** The interface that partners' programs call. */
export function PartnerReferencePage() {
  const scope = usePartnerScope();
  return scope === undefined ? <NotFoundPage /> : <Reference scope={scope} interfaces={["partners", "gbfs"]} />;
}

/** All interfaces of the service. */
export function OperatorReferencePage() {
  const scope = useOperatorScope();
  return scope === undefined ? (
    <NotFoundPage />
  ) : (
    <Reference scope={scope} interfaces={["operator", "partners", "gbfs"]} />
  );
}

interface ReferenceProps {
  readonly scope: Scope;
  /** The first is shown where the address names none. */
  readonly interfaces: readonly [Interface, ...(readonly Interface[])];
}

function Reference({ scope, interfaces }: ReferenceProps) {
  const { get, filter } = useUrlState();
  const shown = interfaces.find((each) => each === get("interface")) ?? interfaces[0];
  const { data, error, refetch } = useDocument(INTERFACES[shown].document);
  return (
    <div class="stack">
      <ReferenceHeader shown={shown} />
      <div class="reference-filters">
        <TextField
          label="Find an endpoint"
          type="search"
          placeholder="rides, POST, /v1/stations"
          value={get("q")}
          onInput={(q) => filter({ q, endpoint: "" })}
        />
        <SelectField
          label="Interface"
          value={shown}
          choices={interfaces.map((value) => ({ value, label: INTERFACES[value].label }))}
          onChange={(value) => filter({ interface: value === interfaces[0] ? "" : value, endpoint: "", q: "" })}
        />
      </div>
      {data !== undefined ? (
        <Endpoints scope={scope} document={data} isFirst={shown === interfaces[0]} />
      ) : (
        (error === null && <Loading />) || <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </div>
  );
}

interface EndpointsProps {
  readonly scope: Scope;
  readonly document: OpenApiDocument;
  /** Whether addresses need not name the interface. */
  readonly isFirst: boolean;
}

/** The endpoints that were looked for, and the one that is read. */
function Endpoints({ scope, document, isFirst }: EndpointsProps) {
  const { get, given } = useUrlState();
  const keyScopes = useKeyScopes(scope);
  const typed = get("q").trim();
  const endpoints = endpointsOf(document);
  const found = endpoints.filter((endpoint) => typed === "" || matchesEndpoint(endpoint, typed));
  const selected = endpoints.find(({ id }) => id === get("endpoint")) ?? (found.length === 1 ? found[0] : undefined);
  const kept = given(isFirst ? ["q"] : ["q", "interface"]);
  if (found.length === 0) {
    return <EmptyState title="No endpoint matches">Try a word of its route, or of what it does.</EmptyState>;
  }
  return (
    <div class={selected === undefined ? "reference" : "reference reference-open"}>
      <EndpointList
        tags={document.tags}
        endpoints={found}
        selected={selected}
        keyScopes={keyScopes}
        addressOf={(endpoint) => addressIn(scope, "api", { ...kept, endpoint })}
      />
      {selected !== undefined && (
        <Details
          key={selected.id}
          scope={scope}
          endpoint={selected}
          document={document}
          keyScopes={keyScopes}
          listAddress={addressIn(scope, "api", kept)}
        />
      )}
    </div>
  );
}

function ReferenceHeader({ shown }: { readonly shown: Interface }) {
  const { document: address, reference } = INTERFACES[shown];
  const hasReference = useHasDocument(reference);
  return (
    <PageHeader
      title="API reference"
      actions={
        <>
          {hasReference && (
            <a href={reference} target={TARGET}>
              The whole reference
            </a>
          )}
          <a href={address} target={TARGET}>
            OpenAPI document
          </a>
        </>
      }
    >
      All endpoints, from the OpenAPI document that the service checks requests with.
    </PageHeader>
  );
}

interface DetailsProps {
  readonly scope: Scope;
  readonly endpoint: Endpoint;
  readonly document: OpenApiDocument;
  readonly keyScopes: KeyScopes | undefined;
  readonly listAddress: string;
}

function Details({ scope, endpoint, document: openApi, keyScopes, listAddress }: DetailsProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // Whoever followed a link of the list goes on reading here.
    if (document.activeElement?.closest(".reference-list") !== null) heading.current?.focus();
  }, []);
  return (
    <article class="card stack reference-details" aria-labelledby="endpoint">
      <Link href={listAddress} className="reference-back">
        All endpoints
      </Link>
      <div>
        <h2 id="endpoint" ref={heading} tabIndex={-1}>
          {endpoint.summary}
        </h2>
        <code class="reference-route">
          {endpoint.method} {endpoint.path}
        </code>
      </div>
      {endpoint.scope !== undefined && keyScopes !== undefined && (
        <ScopeNote scope={scope} needed={endpoint.scope} keyScopes={keyScopes} />
      )}
      <EndpointDetails endpoint={endpoint} document={openApi} />
    </article>
  );
}

function useDocument(address: string) {
  return useQuery({
    queryKey: ["openapi", address],
    queryFn: ({ signal }) => readDocument(address, signal),
    staleTime: Infinity,
  });
}

async function readDocument(address: string, signal: AbortSignal): Promise<OpenApiDocument> {
  const response = await fetch(address, { signal }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ConnectionError("The server could not be reached.", { cause: error });
  });
  if (!response.ok) throw new Error(`The document could not be read, status ${response.status}`);
  return (await response.json()) as OpenApiDocument;
}
