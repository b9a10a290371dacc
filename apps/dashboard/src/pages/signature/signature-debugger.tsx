import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Field, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Notice } from "../../components/notice.tsx";
import { type Finding, findMistake } from "./find-mistake.ts";
import "./signature.css";

interface SignatureDebuggerProps {
  /** The initial values of the form: those of a delivery that was sent. Omitted: the fields begin empty. */
  readonly header?: string;
  readonly body?: string;
}

/** A form that finds the mistake for which a receiver rejects a signature. */
export function SignatureDebugger({ header: sentHeader = "", body: sentBody = "" }: SignatureDebuggerProps) {
  const [header, setHeader] = useState(sentHeader);
  const [body, setBody] = useState(sentBody);
  const [secret, setSecret] = useState("");
  const [finding, setFinding] = useState<Finding>();
  const check = async () => {
    try {
      setFinding(await findMistake({ header, body, secret, now: new Date().getTime() }));
    } catch (error) {
      // Browsers offer the functions for signatures only to pages that were loaded over https or from localhost.
      setFinding({ isValid: false, message: `This browser cannot check it: ${String(error)}` });
    }
  };
  return (
    <div class="stack">
      <p class="muted">
        {sentHeader === ""
          ? "Paste what your receiver got. Everything stays in this browser."
          : "Header and body are as sent. Paste your receiver’s secret, or replace the body with what it verified. Everything stays in this browser."}
      </p>
      <Form onSubmit={() => void check()}>
        <TextField
          label="Service-Signature"
          value={header}
          onInput={setHeader}
          placeholder="t=…,v1=…"
          autocomplete="off"
          monospace
          required
        />
        <BodyField value={body} onInput={setBody} />
        <SecretField value={secret} onInput={setSecret} />
        <div class="row">
          <Button type="submit">Check the signature</Button>
        </div>
      </Form>
      <div role="status">
        {finding !== undefined && (
          <Notice
            tone={finding.isValid ? "success" : "danger"}
            title={finding.isValid ? "It fits" : "The signature does not match"}
          >
            {finding.message}
          </Notice>
        )}
      </div>
    </div>
  );
}

interface TextProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function BodyField({ value, onInput }: TextProps) {
  return (
    <Field label="Body" hint="Exactly as your program received it">
      {(control) => (
        <textarea
          {...control}
          class="control control-mono"
          rows={5}
          value={value}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** An input for the secret. Its type is not `password`, because browsers would offer to store the secret. */
function SecretField({ value, onInput }: TextProps) {
  return (
    <Field label="Secret" hint="It begins with whsec_">
      {(control) => (
        <input
          {...control}
          class="control control-mono signature-secret"
          value={value}
          autocomplete="off"
          spellcheck={false}
          required
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
