import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/code.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { useShownOnce } from "../../session/shown-once.ts";
import { useAction } from "../use-action.ts";

interface CurlProps {
  readonly params: { readonly system_id: string; readonly partner_id: string; readonly delivery_id: string };
  /** Whether the reader may get the command with a signature. */
  readonly canSign: boolean;
}

/** A curl command that sends the delivery again. */
export function Curl({ params, canSign }: CurlProps) {
  // The command may have a signature, so it is forgotten when the session ends.
  const [command, setCommand] = useShownOnce<string>();
  const { run, isPending } = useAction();
  const unsigned = (to: "endpoint" | "localhost") =>
    run(async () => setCommand((await api.deliveries.curl({ params, query: { to } })).command));
  const signed = (to: "endpoint" | "localhost") =>
    run(async () => setCommand((await api.deliveries.signedCurl({ params, body: { to } })).command));
  return (
    <>
      <Button pending={isPending} onClick={() => void unsigned("endpoint")}>
        Copy as curl
      </Button>
      <Dialog title="Copy as curl" isOpen={command !== undefined} onClose={() => setCommand(undefined)}>
        <Code text={command ?? ""} label="curl command" />
        <div class="row">
          <Button onClick={() => void unsigned("endpoint")}>To the endpoint</Button>
          <Button onClick={() => void unsigned("localhost")}>To localhost:3000</Button>
          {canSign && (
            <>
              <Button onClick={() => void signed("endpoint")}>Signed, to the endpoint</Button>
              <Button onClick={() => void signed("localhost")}>Signed, to localhost:3000</Button>
            </>
          )}
        </div>
        <p class="muted">
          Without a signature your receiver refuses it. A signature is made for now, and counts for five minutes. The
          secret is not in it.
        </p>
      </Dialog>
    </>
  );
}
