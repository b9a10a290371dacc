import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { ErrorState } from "../../components/error-state.tsx";
import { Loading } from "../../components/loading.tsx";
import type { SignatureDebugger } from "./signature-debugger.tsx";
import "./signature.css";

type Prefilled = Parameters<typeof SignatureDebugger>[0];

interface SignatureSectionProps extends Prefilled {
  readonly title?: string;
}

/** The signature debugger, whose module is loaded when it is opened. */
export function SignatureSection({ title = "Signature debugger", ...prefilled }: SignatureSectionProps) {
  const [Debugger, setDebugger] = useState<ComponentType<Prefilled>>();
  const [failure, setFailure] = useState<unknown>();
  const load = () => {
    setFailure(undefined);
    import("./signature-debugger.tsx").then(
      // Wrapped in a function: a component is a function, which the setter would call.
      (loaded) => setDebugger(() => loaded.SignatureDebugger),
      setFailure,
    );
  };
  return (
    <details class="card signature-section" onToggle={(event) => event.currentTarget.open && load()}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {Debugger !== undefined && <Debugger {...prefilled} />}
      {failure !== undefined && <ErrorState error={failure} onRetry={load} />}
      {Debugger === undefined && failure === undefined && <Loading />}
    </details>
  );
}
