import type { LimitTexts } from './limitTexts.ts'

export const chinese: LimitTexts = {
  emptyReply: '你上一条回复是空的。需要工具就调用工具，否则请直接回答。',

  truncatedReply: '你上一条回复超出输出长度上限被截断，已作废。请重新回答，写短一些。',

  missingCalls: '你上一条回复说要调用工具，但没有收到任何调用。请发出调用，或直接给出答案。',

  closing:
    '本轮对话不能再使用工具。请根据目前已知的内容，现在就回答最后一个请求，并如实说明缺少什么、哪些未能核实。',

  warnings: {
    repeats: ({ tool, count }) =>
      `（注意：你已经以相同参数调用 ${tool} ${count} 次，没有得到任何新内容：上面的结果你之前已经得到过。再发出相同的调用，` +
      '就可能不能再使用工具。请利用这个结果，换用其他参数，或直接回答。）',

    sameCalls: ({ tool, count }) =>
      `你已经以相同参数调用 ${tool} ${count} 次。\n请利用已有的结果，换一种做法（其他参数或其他工具），或直接回答。`,

    stagnation: ({ count }) =>
      `最近 ${count} 步虽然换了说法，却没有得到任何新内容。不要继续用同样的方式查找：请换一种思路，或根据已有内容回答。`,

    errorStreak: ({ tool, count }) =>
      tool === undefined
        ? `最近 ${count} 次工具调用都失败了。请先读懂错误信息，再改变做法，或不用工具直接回答。`
        : `${tool} 已经因同样的错误失败了 ${count} 次。不要再用同样的方式尝试：请按错误提示修改，换用其他工具，或直接回答。`,

    malformed: ({ count }) => `最近 ${count} 条回复都无法使用。请发出工具调用，或给出完整的答案。`,

    steps: ({ count }) => `这已是第 ${count} 次模型调用，所剩次数不多。只做必不可少的调用，或直接回答。`,

    toolCalls: ({ count }) => `已经调用了 ${count} 次工具，所剩次数不多。只做必不可少的调用，或直接回答。`,

    time: () => '剩余时间不多。只做必不可少的调用，或直接回答。',

    tokens: () => '剩余的 token 额度不多。请简短，只做必不可少的调用，或直接回答。',

    cost: () => '剩余的预算不多。请简短，只做必不可少的调用，或直接回答。',
  },

  customWarning: ({ evidence }) => `注意：${evidence}`,

  noAnswer: ({ said, results }) =>
    [
      ...(said === undefined ? [] : [said]),
      ...(results.length === 0
        ? []
        : [
            [
              '未能得出答案。最后得到的结果：',
              ...results.map(({ tool, content }) => `- ${tool}：${content}`),
            ].join('\n'),
          ]),
    ].join('\n\n') || '未能得出答案，也没有得到任何结果。',
}
