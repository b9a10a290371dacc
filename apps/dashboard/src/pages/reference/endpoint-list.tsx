import { Link } from "wouter-preact";
import type { Endpoint, OpenApiDocument } from "./openapi.ts";
import type { KeyScopes } from "./scope-note.tsx";

interface EndpointListProps {
  readonly tags: OpenApiDocument["tags"];
  readonly endpoints: readonly Endpoint[];
  readonly selected: Endpoint | undefined;
  /** What each of the partner's keys may do, where that is known. */
  readonly keyScopes: KeyScopes | undefined;
  readonly addressOf: (endpointId: string) => string;
}

/** Endpoints by what they are about. */
export function EndpointList({ tags, endpoints, selected, keyScopes, addressOf }: EndpointListProps) {
  return (
    <nav class="reference-list stack" aria-label="Endpoints">
      {tags
        .filter(({ name }) => endpoints.some(({ tag }) => tag === name))
        .map(({ name, description, "x-displayName": shown }) => (
          <section key={name}>
            <h2>{shown}</h2>
            <p class="muted">{description}</p>
            <ul>
              {endpoints
                .filter(({ tag }) => tag === name)
                .map((endpoint) => (
                  <li key={endpoint.id}>
                    <Link href={addressOf(endpoint.id)} aria-current={endpoint === selected ? "true" : undefined}>
                      {endpoint.summary}
                      <code>
                        {endpoint.method} {endpoint.path}
                      </code>
                      {keyScopes !== undefined && !isCovered(endpoint, keyScopes) && (
                        <span class="reference-mark">none of your keys may call it</span>
                      )}
                    </Link>
                  </li>
                ))}
            </ul>
          </section>
        ))}
    </nav>
  );
}

function isCovered({ scope }: Endpoint, keyScopes: KeyScopes): boolean {
  return scope === undefined || keyScopes.some((scopes) => scopes.includes(scope));
}
