/** Collects what is wrong after a workload. */
export interface Findings {
  /** Records a failure unless the condition holds. */
  readonly expect: (isRight: boolean, failure: () => string) => void;
  readonly failures: readonly string[];
}

export function createFindings(): Findings {
  const failures: string[] = [];
  return {
    failures,
    expect: (isRight, failure) => {
      if (!isRight) failures.push(failure());
    },
  };
}
