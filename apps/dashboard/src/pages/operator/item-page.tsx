import type { ComponentChildren } from "preact";
import { useParams } from "wouter-preact";
import { useQuery } from "../../api/queries.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { type UrlState, useUrlState } from "../../layout/url-state.ts";
import { type Access, useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";

/** The request that reads the page's item. */
interface ItemCall {
  readonly params: { readonly system_id: string; readonly id: string };
  readonly signal: AbortSignal;
}

interface ItemPageProps<Item> {
  readonly noun: string;
  readonly read: (call: ItemCall) => Promise<Item>;
  readonly show: (item: Item, url: UrlState, access: Access) => ComponentChildren;
}

/** The page of one item of the fleet, whose id is in the address. */
export function ItemPage<Item>({ noun, read, show }: ItemPageProps<Item>) {
  const access = useOperatorAccess();
  const url = useUrlState();
  const { id } = useParams<{ id: string }>();
  const systemId = access?.systemId ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["fleet", noun, systemId, id],
    queryFn: ({ signal }) => read({ params: { system_id: systemId, id }, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined) return <NotFoundPage />;
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  return <div class="stack">{show(data, url, access)}</div>;
}

interface ItemHeaderProps {
  readonly title: string;
  readonly status?: ComponentChildren;
  readonly id: string;
  readonly actions?: ComponentChildren;
}

/** The header of the page of one item: its name, its state, and its id to copy. */
export function ItemHeader({ title, status, id, actions }: ItemHeaderProps) {
  return (
    <PageHeader
      title={
        <span class="row">
          {title} {status}
        </span>
      }
      actions={actions}
    >
      <span class="item-id mono">
        {id} <CopyButton text={id} label="Copy the id" />
      </span>
    </PageHeader>
  );
}
