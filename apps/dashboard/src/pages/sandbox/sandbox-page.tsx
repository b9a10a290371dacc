import { useLocation } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import { pagesBase } from "../../embedding.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, type PageScope, usePartnerScope } from "../scope.ts";
import { useAction } from "../use-action.ts";
import { Playground } from "./playground.tsx";
import type { SandboxProps } from "./sandbox-controls.ts";

/** The page of a partner's sandbox. It creates the sandbox, and then runs scenarios in it. */
export function SandboxPage() {
  const scope = usePartnerScope();
  if (scope?.partnerId === undefined) return <NotFoundPage />;
  return <Sandbox scope={scope} params={{ system_id: scope.systemId, partner_id: scope.partnerId }} />;
}

function Sandbox({ scope, params }: SandboxProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["sandbox", params.system_id, params.partner_id],
    queryFn: ({ signal }) => api.partnerSandbox.show({ params, signal }),
  });
  if (data === undefined) {
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  }
  if (data.sandbox === null) return <Creation scope={scope} params={params} />;
  if (data.sandbox.system_id !== scope.systemId) return <Entrance scope={scope} systemId={data.sandbox.system_id} />;
  return <Playground scope={scope} params={params} />;
}

/** Offers to create the sandbox, which the partner does not have yet. */
function Creation({ scope, params }: SandboxProps) {
  const { run, isPending } = useAction();
  const create = () =>
    run(async () => {
      const made = await api.partnerSandbox.create({ params, body: {} });
      // Loads the dashboard anew, because the session that it has read lacks the new membership of the sandbox.
      const address = addressIn({ ...scope, systemId: made.system_id, isFirstSystem: false }, "sandbox");
      location.assign(pagesBase + address);
    });
  const action = scope.canChange && (
    <Button variant="primary" pending={isPending} onClick={() => void create()}>
      Create sandbox
    </Button>
  );
  return (
    <PageHeader title="Sandbox" actions={action}>
      A test city of your own, with its own keys and webhooks. Nothing in it touches live data.
      {!scope.canChange && " An admin of yours can create it."}
    </PageHeader>
  );
}

/** A button that leads from the pages of another system of the partner to the sandbox, which is a system of its own. */
function Entrance({ scope, systemId }: { readonly scope: PageScope; readonly systemId: string }) {
  const [, navigate] = useLocation();
  const open = () => navigate(addressIn({ ...scope, systemId, isFirstSystem: false }, "sandbox"));
  return (
    <PageHeader
      title="Sandbox"
      actions={
        <Button variant="primary" onClick={open}>
          Open sandbox
        </Button>
      }
    >
      Your test city, with its own keys and webhooks.
    </PageHeader>
  );
}
