import type { Problem } from "@bikeshare/contract/console";
import { ButtonLink } from "../../components/button.tsx";
import { Sentence } from "../../components/code.tsx";
import { StatusMark, type Tone } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import type { Scope } from "../scope.ts";
import { problemAddress, problemLinks } from "./problem-address.ts";

interface ProblemListProps {
  readonly problems: readonly Problem[];
  readonly scope: Scope;
}

/** What fails and what to do, the worst first; or that nothing does. */
export function ProblemList({ problems, scope }: ProblemListProps) {
  return (
    <section class="card problems" aria-labelledby="problems">
      <h2 id="problems">{problems.some(({ severity }) => severity !== "info") ? "What needs attention" : "Health"}</h2>
      {problems.length === 0 ? (
        <p class="problems-none">
          <StatusMark tone="success" /> Nothing fails. What does will stand here, with what to do about it.
        </p>
      ) : (
        <ul>
          {problems.map((problem, index) => (
            <ProblemItem key={`${problem.code} ${index}`} problem={problem} scope={scope} />
          ))}
        </ul>
      )}
    </section>
  );
}

const tones: Readonly<Record<Problem["severity"], Tone>> = { danger: "danger", warning: "warning", info: "info" };
const severityNames: Readonly<Record<Problem["severity"], string>> = {
  danger: "Urgent:",
  warning: "Soon:",
  info: "To know:",
};
/** Problems whose time lies ahead. */
const FUTURE: readonly Problem["code"][] = ["key_expires", "key_ending"];

function ProblemItem({ problem, scope }: { readonly problem: Problem; readonly scope: Scope }) {
  const { code, severity, text, action, at, partner_name: partnerName } = problem;
  return (
    <li class={`problem problem-${severity}`}>
      <StatusMark tone={tones[severity]} />
      <div class="problem-text">
        <p>
          <span class="visually-hidden">{severityNames[severity]} </span>
          {partnerName !== null && <strong>{partnerName}: </strong>}
          {text}
        </p>
        <p class="muted">
          <Sentence>{action}</Sentence>
          {at !== null && (
            <>
              {" "}
              {FUTURE.includes(code) ? "On" : "Since"} <Time at={at} />.
            </>
          )}
        </p>
      </div>
      <ButtonLink href={problemAddress(problem, scope)}>{problemLinks[problem.link.page]}</ButtonLink>
    </li>
  );
}
