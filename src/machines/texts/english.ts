import type { LimitTexts } from './limitTexts.ts'

export const english: LimitTexts = {
  emptyReply: 'Your last reply was empty. Call a tool if you need one; otherwise answer.',

  truncatedReply: 'Your last reply was cut off at the output limit and was discarded. Answer again, shorter.',

  missingCalls:
    'Your last reply announced a tool call, but none arrived. Make the call, or give the answer itself.',

  closing:
    'Tools can no longer be used in this conversation turn. Answer the last request now, from what is known so far. ' +
    'Say plainly what is missing or could not be verified.',

  warnings: {
    repeats: ({ tool, count }) =>
      `(Note: you have called ${tool} with the same arguments ${count} times without learning anything new: the result ` +
      'above is one that you had already. The same call again may end your use of tools. Work with this result, call ' +
      'with other arguments, or answer.)',

    sameCalls: ({ tool, count }) =>
      `You have asked ${tool} for the same ${count} times.\n` +
      'Make use of what you have, try something else (other arguments, or another tool), or answer.',

    stagnation: ({ count }) =>
      `Your last ${count} steps brought nothing that you had not seen before, although the calls were worded ` +
      'differently. Do not search on in the same way: take another approach, or answer from what you have.',

    errorStreak: ({ tool, count }) =>
      tool === undefined
        ? `Your last ${count} tool calls failed. Read the errors, then change what you do, or answer without the tools.`
        : `${tool} has failed ${count} times with the same error. Do not try it again in the same way: mend what the error names, use another tool, or answer.`,

    malformed: ({ count }) =>
      `Your last ${count} replies could not be used. Reply with a tool call or with a complete answer.`,

    steps: ({ count }) =>
      `This was model call number ${count}, and few are left. Make only the calls that you cannot do without, or answer.`,

    toolCalls: ({ count }) =>
      `${count} tool calls were made, and few are left. Make only those that you cannot do without, or answer.`,

    time: () => 'Little time is left. Make only the calls that you cannot do without, or answer.',

    tokens: () =>
      'Little of the token budget is left. Be brief, make only the calls that you cannot do without, or answer.',

    cost: () =>
      'Little of the budget is left. Be brief, make only the calls that you cannot do without, or answer.',
  },

  customWarning: ({ evidence }) => `Note: ${evidence}`,

  noAnswer: ({ said, results }) =>
    [
      ...(said === undefined ? [] : [said]),
      ...(results.length === 0
        ? []
        : [
            [
              'No answer was reached. The last results were:',
              ...results.map(({ tool, content }) => `- ${tool}: ${content}`),
            ].join('\n'),
          ]),
    ].join('\n\n') || 'No answer was reached, and no result was found.',
}
