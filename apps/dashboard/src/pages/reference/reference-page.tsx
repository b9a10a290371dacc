import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { readDocument } from "../../api/client.ts";
import { useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Loading } from "../../components/loading.tsx";
import { isEmbedded } from "../../embedding.ts";
import { useHasDocument } from "../../layout/has-document.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type PageScope, useOperatorScope, usePartnerScope } from "../scope.ts";
import { type Endpoint, endpointsOf, matchesEndpoint, type OpenApiDocument } from "./openapi.ts";
import "./reference.css";

/**
 * Each interface: its OpenAPI document, its reference page, and the prefix of its anchors on that page. Two interfaces share
 * a page, so their anchors differ by the prefix.
 */
const INTERFACES = {
  partners: { label: "For partners", document: "/openapi.json", reference: "/docs/reference", anchor: "partners/" },
  gbfs: { label: "Public feeds (GBFS)", document: "/openapi/gbfs.json", reference: "/docs/reference", anchor: "gbfs/" },
  operator: {
    label: "For the operator’s backend",
    document: "/openapi/operator.json",
    reference: "/docs/operator",
    anchor: "",
  },
} as const;
type Interface = keyof typeof INTERFACES;

/** An embedded dashboard opens other documents in a new tab: the service forbids the reference's pages in frames. */
const TARGET = isEmbedded ? "_blank" : undefined;

/** A partner's page of the interface that their programs call. */
export function PartnerReferencePage() {
  const scope = usePartnerScope();
  return scope === undefined ? <NotFoundPage /> : <Reference scope={scope} interfaces={["partners", "gbfs"]} />;
}

/** The operator's page of its own interface, the partners' and the public feeds. */
export function OperatorReferencePage() {
  const scope = useOperatorScope();
  return scope === undefined ? (
    <NotFoundPage />
  ) : (
    <Reference scope={scope} interfaces={["operator", "partners", "gbfs"]} />
  );
}

interface ReferenceProps {
  readonly scope: PageScope;
  /** The interfaces to offer. The first is shown if the address names none. */
  readonly interfaces: readonly [Interface, ...(readonly Interface[])];
}

/** The endpoints, each with the scope that a key needs and a link to its description in the reference. */
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
          onInput={(q) => filter({ q })}
        />
        <SelectField
          label="Interface"
          value={shown}
          choices={interfaces.map((value) => ({ value, label: INTERFACES[value].label }))}
          onChange={(value) => filter({ interface: value === interfaces[0] ? "" : value, q: "" })}
        />
      </div>
      {data !== undefined && <Endpoints scope={scope} document={data} shown={shown} />}
      {data === undefined &&
        (error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
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
      Endpoints, and what your keys may call. Each opens its description in the reference.
    </PageHeader>
  );
}

interface EndpointsProps {
  readonly scope: PageScope;
  readonly document: OpenApiDocument;
  readonly shown: Interface;
}

function Endpoints({ scope, document, shown }: EndpointsProps) {
  const { get } = useUrlState();
  const { reference, anchor } = INTERFACES[shown];
  const hasReference = useHasDocument(reference);
  const keyScopes = useKeyScopes(scope);
  const typed = get("q").trim();
  const found = endpointsOf(document).filter((endpoint) => typed === "" || matchesEndpoint(endpoint, typed));
  if (found.length === 0)
    return <EmptyState title="No endpoint matches">Try a word of its route or summary.</EmptyState>;
  return (
    <nav class="reference-list stack" aria-label="Endpoints">
      {document.tags
        .filter(({ name }) => found.some(({ tag }) => tag === name))
        .map(({ name, description, "x-displayName": title }) => (
          <section key={name}>
            <h2>{title}</h2>
            <p class="muted">{description}</p>
            <ul>
              {found
                .filter(({ tag }) => tag === name)
                .map((endpoint) => (
                  <li key={`${endpoint.method} ${endpoint.path}`}>
                    {hasReference ? (
                      <a href={`${reference}#${anchor}${endpoint.anchor}`} target={TARGET}>
                        {endpoint.summary}
                      </a>
                    ) : (
                      endpoint.summary
                    )}
                    <code>
                      {endpoint.method} {endpoint.path}
                    </code>
                    <ScopeNote scope={scope} endpoint={endpoint} keyScopes={keyScopes} />
                  </li>
                ))}
            </ul>
          </section>
        ))}
    </nav>
  );
}

/** The scopes of each active key of a partner. */
type KeyScopes = readonly (readonly string[])[];

interface ScopeNoteProps {
  /** Whose page this is. It is no scope of a key. */
  readonly scope: PageScope;
  readonly endpoint: Endpoint;
  readonly keyScopes: KeyScopes | undefined;
}

/** The scope that an endpoint needs, and how many of the partner's keys have it. */
function ScopeNote({ scope, endpoint: { scope: needed }, keyScopes }: ScopeNoteProps) {
  if (needed === undefined) return null;
  if (keyScopes === undefined) return <code>{needed}</code>;
  const count = keyScopes.filter((scopes) => scopes.includes(needed)).length;
  return (
    <span class={count === 0 ? "reference-mark" : "muted"}>
      <code>{needed}</code>:{" "}
      <Link href={addressIn(scope, "keys")}>
        {count === 0 ? "none of your keys" : `${count} of ${keyScopes.length} keys`}
      </Link>
    </span>
  );
}

/** Returns the scopes of the partner's active keys; undefined while they load, and on the operator's pages. */
function useKeyScopes({ systemId, partnerId = "" }: PageScope): KeyScopes | undefined {
  const { data } = useQuery({
    queryKey: ["keys", systemId, partnerId],
    queryFn: ({ signal }) => api.partnerKeys.list({ params: { system_id: systemId, partner_id: partnerId }, signal }),
    enabled: partnerId !== "",
  });
  return data?.data.filter(({ status }) => status === "active").map(({ scopes }) => scopes);
}

function useDocument(address: string) {
  return useQuery({
    queryKey: ["openapi", address],
    queryFn: async ({ signal }) => (await readDocument(address, { signal })) as OpenApiDocument,
    staleTime: Infinity,
  });
}
