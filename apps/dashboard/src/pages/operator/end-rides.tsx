import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { showToast } from "../../components/toast.tsx";
import { useAction } from "../use-action.ts";

interface EndRidesProps {
  readonly systemId: string;
  readonly ids: readonly string[];
}

/** A button that ends rides without a reported end, after a confirmation. */
export function EndRides({ systemId, ids }: EndRidesProps) {
  const [isAsking, setAsking] = useState(false);
  const { run, isPending } = useAction();
  const what = ids.length === 1 ? "this ride" : `these ${ids.length} rides`;
  const end = () =>
    run(async () => {
      const { results, failed } = await api.fleet.endRides({
        params: { system_id: systemId },
        body: { ids: [...ids] },
      });
      await queries.invalidateQueries({ queryKey: ["fleet"] });
      setAsking(false);
      const ended = ids.length - failed;
      if (ended > 0) showToast("success", ended === 1 ? "Ride ended." : `${ended} rides are ended.`);
      const failure = results.find(({ error }) => error !== null);
      if (failure?.error) showToast("danger", `${failed} not ended. ${failure.id ?? ""}: ${failure.error.message}`);
    });
  return (
    <div>
      <Button variant="danger" onClick={() => setAsking(true)}>
        End {what}
      </Button>
      <Dialog
        title={`End ${what}?`}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        actions={
          <>
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button variant="danger" pending={isPending} onClick={() => void end()}>
              End {what}
            </Button>
          </>
        }
      >
        <p>For a ride whose end was never reported. It ends now, with the reason “operator”, and cannot be resumed.</p>
        <p>
          A bike that has reported its position since the ride began is shown there. Any other is missing until it
          reports one.
        </p>
      </Dialog>
    </div>
  );
}
