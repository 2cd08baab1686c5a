/** What is counted. Each round has a text of its own, so that no counter has met it before. */
export interface TextKind {
  readonly name: string
  text(round: number): string
  /** A shorter text of the same kind, for a counter that takes quadratic time. */
  shorter?(round: number): string
}

/** UTF-16 units of a text that is not pathological. */
const LENGTH = 100_000

const PATHOLOGICAL_LENGTH = 10_000

/** What js-tiktoken counts in seconds. */
const SHORTER_LENGTH = 2000

export const textKinds: readonly TextKind[] = [
  { name: 'English', text: (round) => prose(round, englishWords, ' ', [', ', '. ', '? ', ' – ', '.\n']) },
  { name: 'Chinese', text: (round) => prose(round, chineseWords, '', ['，', '。', '；', '！', '、']) },
  { name: 'JSON', text: json },
  pathological('one letter', 'a'),
  pathological('spaces', ' '),
  pathological('one Chinese character', '中'),
]

/** Texts of exactly 100,000 UTF-16 units. */
export const longTexts: readonly { readonly name: string; readonly text: string }[] = [
  ...['a', 'Z', ' ', '\n', '中', 'ー', 'ع', '😀', '=', '1', '\u0301'].map((unit) => ({
    name: JSON.stringify(unit),
    text: unit.repeat(LENGTH / unit.length),
  })),
  { name: 'random a and b', text: anyOf('ab') },
  { name: 'random Chinese characters', text: randomText((random) => 0x4e00 + random(20_000)) },
  { name: 'random bytes as text', text: randomText((random) => random(256)) },
  { name: 'random UTF-16', text: randomText((random) => random(65_536)) },
  { name: 'base64', text: anyOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') },
]

function pathological(name: string, unit: string): TextKind {
  return {
    name: `${name} × ${PATHOLOGICAL_LENGTH}`,
    text: (round) => unit.repeat(PATHOLOGICAL_LENGTH - round),
    shorter: (round) => unit.repeat(SHORTER_LENGTH - round),
  }
}

/** Words in any order: sentences that were never written before, of words that were. */
function prose(round: number, words: string, between: string, marks: readonly string[]): string {
  const random = randomNumbers(round)
  const list = words.split(' ')
  const clauses: string[] = []
  for (let length = 0; length < LENGTH; length += clauses.at(-1)?.length ?? LENGTH) {
    const clause = Array.from({ length: 3 + random(6) }, () => list[random(list.length)])
    clauses.push(clause.join(between) + (marks[random(marks.length)] ?? ''))
  }
  return clauses.join('')
}

function json(round: number): string {
  const random = randomNumbers(round)
  const words = englishWords.split(' ')
  const record = (id: number) => ({
    id,
    uuid: `${random(2 ** 31).toString(16)}-${random(65_536).toString(16)}`,
    name: `${words[random(words.length)]} ${words[random(words.length)]}`,
    price: random(100_000) / 100,
    inStock: random(2) === 0,
    tags: [words[random(words.length)], null],
    at: new Date(1.7e12 + random(2 ** 31)).toISOString(),
  })
  const records = Array.from({ length: 600 }, (_, i) => record(i))
  return JSON.stringify(records, null, round % 2 === 0 ? 0 : 2).slice(0, LENGTH)
}

function anyOf(alphabet: string): string {
  return randomText((random) => alphabet.charCodeAt(random(alphabet.length)))
}

function randomText(unit: (random: (below: number) => number) => number): string {
  const random = randomNumbers(1)
  return Array.from({ length: LENGTH }, () => String.fromCharCode(unit(random))).join('')
}

/**
 * Whole numbers from 0 up to a bound, the same in each run of the benchmark: the linear congruential generator of
 * "Numerical Recipes", of which the upper bits are good enough for this.
 */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const englishWords =
  'the of and to a in is that it was for on as with be by at this have from or one had not but what all were when we there can an your which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no make than first been its who now people my made over did down only way find use may water long little very after words called just where most know get through back much before go good new write our used me man too any day same right look think also around another came come work three word must because does part even place well such here take why things help put years different away again off went old number great tell men say small every found still between name should home big give air line set own under read last never us left end along while might next sound below saw something thought both few those always looked show large often together asked house world going want school important until form food keep children feet land side without boy once animals life enough took sometimes four head above kind began almost live page got earth need far hand high year mother light parts country father let night following picture being study second eyes soon times story boys since white days ever paper hard near sentence better best across during today others however sure means knew try told young miles sun ways thing whole hear example heard several change answer room sea against top turned learn point city play toward five using himself usually statechart deterministic retries tokenizer misconfigured anthropomorphic Zürich'
const chineseWords =
  '我们 的 今天 天气 非常 好 所以 决定 去 公园 散步 北京 上海 城市 交通 系统 可以 帮助 人们 快速 到达 目的地 人工智能 模型 需要 大量 数据 训练 才能 回答 问题 工具 调用 结果 返回 之后 继续 思考 如果 出现 错误 就 重新 尝试 一次 用户 希望 得到 准确 答案 关于 历史 文化 经济 发展 报告 已经 完成 请 检查 文件 内容 是否 正确 会议 时间 改到 下午 三点 谢谢 合作 价格 上涨 百分之 十二 學習 圖書館 研究 技術 老师 学生 朋友 家庭 工作 生活 健康 运动 音乐 电影 小说 翻译 语言 世界 国家 政府 法律 市场 公司 产品 服务 质量 安全 环境 保护 能源 科学 实验 方法 理论 实践 经验 教训 未来 计划 目标 实现 梦想'
