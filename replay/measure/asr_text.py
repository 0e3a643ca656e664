"""How transcripts are compared: each word becomes the plain tokens that it is read as.

English, after the habits of Whisper's own normaliser, in a few rules:

1. lower case, NFKC; everything but letters, digits and inner apostrophes parts words;
2. fillers (uh, um, er, erm, ah, mm, mhm, hmm) are dropped on both sides;
3. contractions are read out: *here's* → here is, *I'm* → i am, *don't* → do not;
4. numbers up to 9999 are read out digit group by digit group: *7* → seven, *21* → twenty one;
5. spellings that sound the same are one: *alright* → all right, *yknow* → you know, *ok* → okay.

Chinese (and any other language without spaces): one token a Han character, punctuation dropped,
traditional characters folded to simplified ones where the table below knows them; the fillers 嗯,
呃 and 哦 are dropped on both sides.

Tokens are made word by word, so every token has its word's times.
"""

from __future__ import annotations

import re
import unicodedata

FILLERS = frozenset({"uh", "um", "er", "erm", "ah", "mm", "mhm", "hmm", "hm", "uhm", "eh"})
HAN_FILLERS = frozenset("嗯呃哦")
SAME = {
    "alright": "all right",
    "yknow": "you know",
    "y'know": "you know",
    "ok": "okay",
    "cannot": "can not",
    "can't": "can not",
    "won't": "will not",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "got to",
    "cause": "because",
    "'cause": "because",
    "let's": "let us",
    "mr": "mister",
    "mrs": "missus",
    "dr": "doctor",
}
ENDINGS = {
    "n't": "not",
    "'re": "are",
    "'s": "is",
    "'d": "would",
    "'ll": "will",
    "'t": "not",
    "'ve": "have",
    "'m": "am",
}
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ONES, TENS = _SMALL.split(), _TENS.split()
_PLAIN = re.compile(r"[\w']+")


def tokens_of(text: str, *, language: str) -> list[str]:
    """The tokens that ``text`` (a word, or a whole transcript) is compared by."""
    plain = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    if language == "en":
        return [token for word in _PLAIN.findall(plain) for token in _read_english(word)]
    tokens: list[str] = []
    for run in re.findall(r"[\u3400-\u9fff]|[a-z0-9']+", plain):
        if run in HAN_FILLERS:
            continue
        tokens += [SIMPLIFIED.get(run, run)] if len(run) == 1 else _read_english(run)
    return tokens


def _read_english(word: str) -> list[str]:
    word = word.strip("'_") if word not in SAME else word
    if not word or word in FILLERS:
        return []
    if word in SAME:
        return SAME[word].split()
    if word.isascii() and word.isdigit() and len(word) <= 4:
        return _read_number(int(word))
    for ending, reading in ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending):
            return [word.removesuffix(ending), reading]
    return [word]


def _read_number(number: int) -> list[str]:
    if number < 20:
        return [ONES[number]]
    if number < 100:
        rest = [ONES[number % 10]] if number % 10 else []
        return [TENS[number // 10 - 2], *rest]
    if number < 1000:
        rest = _read_number(number % 100) if number % 100 else []
        return [ONES[number // 100], "hundred", *rest]
    rest = _read_number(number % 1000) if number % 1000 else []
    return [ONES[number // 1000], "thousand", *rest]


_PAIRS = (
    "經经廣广報报導导後后為为會会熱热點点這这個个裡里裏里邊边兒儿們们來来時时說说對对開开關关東东車车馬马門门問问間间見见現现發发長长張张電电話话書书學学習习國国語语"
    "讀读寫写聽听請请誰谁讓让認认識识議议論论設设計计記记許许證证詞词試试課课調调談谈謝谢親亲覺觉觀观視视規规將将與与並并從从複复復复過过還还進进運运達达遠远選选邏逻"
    "輯辑適适郵邮鄉乡醫医釋释錢钱鐘钟銀银鐵铁錯错鍵键鏡镜陽阳陰阴際际隨随險险雖虽雙双雜杂難难雲云靈灵靜静頁页頂顶項项順顺須须預预領领頭头題题額额願愿類类顧顾顯显風风"
    "飛飞飯饭飲饮館馆駐驻驗验驚惊體体魚鱼鳥鸟黃黄齊齐齒齿龍龙協协衛卫術术衝冲補补裝装製制褲裤區区單单參参叢丛員员園园圓圆圖图團团場场塊块壓压壞坏夠够夢梦夾夹奧奥婦妇"
    "媽妈孫孙實实審审寬宽寶宝尋寻層层屬属島岛幣币師师帶带幫帮幹干幾几庫库廠厂廳厅強强彈弹當当錄录彎弯徵征應应態态慣惯憶忆懷怀戰战戲戏戶户拋抛捨舍掃扫採采換换損损搖摇"
    "搶抢據据擇择擊击擔担擁拥擴扩擺摆攝摄攔拦敗败數数斷断於于晝昼暫暂曉晓曬晒條条極极構构槍枪樂乐樓楼標标樣样樹树橋桥機机檢检歐欧歡欢歲岁歷历歸归殘残殺杀氣气決决沒没"
    "淚泪淨净測测渾浑湯汤準准溫温滅灭滿满漁渔漢汉漸渐潔洁潛潜澤泽濕湿濟济瀏浏灣湾災灾無无煙烟燈灯燒烧營营爐炉爭争爺爷牆墙獎奖獨独獲获環环產产畫画異异療疗皺皱盜盗盡尽"
    "監监盤盘眾众睜睁礎础禮礼種种積积穩稳窩窝窮穷筆笔範范簡简簽签籃篮糧粮紀纪約约紅红納纳紙纸級级細细終终組组結结給给統统絕绝絲丝維维網网緊紧線线練练緩缓編编緣缘縣县"
    "縮缩總总績绩織织繩绳繼继續续罰罚羅罗義义聞闻聯联聲声職职腦脑腳脚臉脸臨临舉举舊旧藝艺節节華华萬万葉叶著着蓋盖蘇苏蘭兰處处號号虛虚蟲虫蝦虾襯衬訂订訊讯討讨訓训訪访"
    "評评詢询該该詳详誌志誤误諾诺講讲謀谋謂谓變变豐丰財财貝贝負负貢贡貨货責责貴贵買买費费貼贴貿贸資资賓宾賞赏賣卖質质賽赛贈赠贏赢趕赶趙赵跡迹踐践軍军軟软輕轻載载較较"
    "輛辆輪轮輸输轉转辦办農农連连週周遊游遲迟遷迁遺遗鄭郑鄧邓鄰邻醬酱針针鋼钢錶表錦锦鎖锁鑰钥閃闪閉闭閱阅闊阔陳陈陸陆隊队階阶隱隐離离霧雾韓韩響响頓顿頸颈顆颗顏颜餓饿"
    "騎骑騙骗驅驱髒脏鬆松鬧闹鮮鲜鹽盐麗丽麥麦黨党齡龄偉伟側侧偵侦備备傑杰傘伞傳传債债傷伤傾倾僅仅價价億亿優优償偿兩两內内冊册凍冻劃划劇剧劉刘劍剑劑剂勁劲動动務务勝胜"
    "勞劳勢势勵励勸劝匯汇卻却厭厌嚴严嗎吗呂吕嘆叹嘗尝噴喷嚇吓囑嘱圍围執执堅坚塵尘墊垫墳坟壯壮壽寿夥伙妝妆姊姐娛娱嬰婴宮宫寧宁寵宠屆届岡冈崗岗峽峡嶺岭巖岩廁厕廂厢廚厨"
    "廢废廟庙棄弃彙汇徑径恆恒悅悦惡恶惱恼愛爱慮虑慶庆憂忧憐怜憑凭擋挡擠挤攜携攪搅敵敌斬斩昇升晉晋暈晕朧胧桿杆棟栋棲栖椏桠楊杨業业榮荣槓杠樁桩歎叹毀毁毆殴氫氢漲涨潤润"
    "濃浓濾滤瀉泻灑洒狀状狹狭獅狮瑪玛瓊琼甌瓯畢毕癢痒碼码確确磚砖祕秘禍祸稱称穀谷竄窜競竞築筑籌筹糾纠純纯紡纺紛纷紹绍絡络綁绑綠绿綱纲綿绵緒绪緯纬縫缝縱纵繞绕繪绘羨羡"
    "聖圣聰聪肅肃脅胁脈脉腸肠膚肤膠胶艦舰艙舱艱艰莊庄莖茎薦荐藍蓝藥药蘋苹蘿萝蠟蜡衆众訴诉診诊詐诈誇夸誕诞譯译譽誉讚赞豬猪貓猫賀贺賊贼賴赖購购贊赞軌轨軸轴辭辞遞递邁迈"
    "釣钓鈕钮鈴铃銅铜銳锐鋒锋鋪铺鍋锅鍾钟鎮镇鏈链鑽钻閒闲闆板陣阵隻只颱台飄飘飼饲飾饰餅饼餘余駕驾騷骚驟骤魯鲁鴨鸭鵝鹅麵面鼇鳌紮扎僱雇佈布傢家嚐尝妳你"
)
SIMPLIFIED = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
"""Common traditional characters and their simplified ones; not complete."""
