import type { ComponentChildren } from "preact";
import { Redirect, useLocation, useSearch } from "wouter-preact";
import { ErrorState } from "../components/error-state.tsx";
import { Loading } from "../components/loading.tsx";
import { useSession } from "./session.ts";

/** Shows its children to whoever is signed in, and leads everybody else to the sign-in page, and back afterwards. */
export function SessionGate({ children }: { readonly children: ComponentChildren }) {
  const { data: session, error, refetch } = useSession();
  const [path] = useLocation();
  const search = useSearch();
  if (session === null) {
    const next = search === "" ? path : `${path}?${search}`;
    return <Redirect to={next === "/" ? "/sign-in" : `/sign-in?next=${encodeURIComponent(next)}`} replace />;
  }
  if (session !== undefined) return <>{children}</>;
  return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
}
