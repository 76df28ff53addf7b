"""English words that decide what is a phrase: those that end one, those that say little, and those that join two."""

from __future__ import annotations

__all__ = [
    "AND",
    "ASKING",
    "AUDIENCE",
    "BODIES",
    "COMPOUNDED",
    "COMPOUNDING",
    "CURRENCIES",
    "DETERMINERS",
    "FUNCTION_WORDS",
    "GENERIC",
    "IMPERATIVE",
    "LATER_PARTICLES",
    "NEVER",
    "NUMBER_WORDS",
    "OCCUPATIONS",
    "OF",
    "OPENING",
    "PARTICLES",
    "PREPOSITIONS",
    "ROLES",
    "SAYING",
    "SPECIAL",
    "TIMES",
    "TRANSPARENT",
    "UNIT",
    "VERBS",
    "WEAK",
    "WEAK_OR_ORDINAL",
]


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# Function words and abbreviations that taggers take for nouns or adjectives; never a phrase alone.
FUNCTION_WORDS = _words(
    "i ii iii iv v vi vii viii ix x e.g eg i.e ie et al etc cf vs viz fig eq sec ref no nos pp vol ed eds",
    "lrb rrb lsb rsb lcb rcb a an the and or but nor of in on at by to for from with without as if than",
    "that this these those which who whom whose what when where why how we you he she it they our your his",
    "her its their one such other same own be is are was were been being do does did has have had can could",
    "may might must shall should will would not all any both each either every few many more most much",
    "neither none several some",
)
DETERMINERS = _words("a an the this that these those its their his her our your my each every any no some whose")
# Greetings, particles, and nouns that say when: never part of a phrase.
NEVER = _words(
    "hi hello hey dear regards sincerely cheers thanks thank please welcome goodbye bye yours um uh er yes ok okay",
    "cannot can't don't doesn't didn't isn't aren't wasn't won't today tomorrow yesterday tonight re fw fwd et al",
    "nobody somebody everybody anybody everyone anyone someone mon tue tues wed weds thu thur thurs fri",
)
# Adjectives and participles that point or compare instead of naming: a phrase begins after them.
WEAK = _words(
    "more most less least fewer fewest many several various different other another such same own certain numerous",
    "additional further particular respective next last previous former latter better best worse worst larger largest",
    "smaller smallest greater greatest bigger biggest closest possible available able given used using proposed",
    "existing following resulting corresponding obtained observed considered presented described mentioned said",
    "so-called very quite few much enough recent entire whole",
)
# These may name something ("first aid", "new town"), so a phrase is tried with and without them.
WEAK_OR_ORDINAL = WEAK | _words(
    "first second third fourth fifth sixth new old good bad great big little nice main important similar only overall",
    "total full current higher highest lower lowest longer longest shorter shortest earlier earliest later latest",
    "newer newest older oldest",
)
TIMES = _words(
    "january february march april may june july august september october november december jan feb mar apr jun jul",
    "aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun",
    "morning afternoon evening night noon midnight week month year day hour minute second weekend time moment date",
    "now am pm decade",
)
NUMBER_WORDS = _words(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million",
    "billion",
)
# Heads that say nothing of what follows "of": a "number of users" is no phrase, a "bill of lading" is one.
TRANSPARENT = _words(
    "number set lot use effect impact role lack series kind type part range level amount analysis study development",
    "presence case way pair group class variety majority couple sort form list sum piece bit end start beginning",
    "middle top side rest half third quarter member result example advantage influence importance absence existence",
    "application evaluation assessment investigation comparison review survey improvement increase decrease",
    "reduction rate degree extent share percentage proportion fraction version copy collection sample subset evidence",
    "cause consequence risk need basis aspect context problem issue question method approach technique algorithm model",
    "framework concept notion idea field area day week month year hour minute time course process means term view",
    "light front face favour favor behalf spite respect regard order addition",
)
# Words that say little alone, whatever the text.
GENERIC = _words(
    "thing way lot people person man woman men women child guy somebody everyone anyone place part side matter",
    "request charge change name order number point reason case fact question problem idea word work job life world",
    "hand home house end start beginning middle front back top bottom left right kind sort type bit piece set list",
    "line look step help need want use try chance choice result effect impact aim goal purpose observation survey",
    "paper article study approach method methodology finding conclusion introduction abstract summary background",
    "objective discussion keyword section chapter page slide journal volume issue figure table appendix annex ticket",
    "minutes agenda item note attachment copy draft version detail information example instance situation condition",
    "circumstance term respect regard addition contrast comparison difference increase decrease decline rise growth",
    "amount quantity level degree extent range size length depth height width share half quarter third total sum",
    "average percent percentage cent euro dollar pound unit member group team company firm staff colleague customer",
    "user author researcher reader expert official spokesman spokeswoman speaker participant subject patient sample",
    "data dataset usage application practice experience evidence feature property aspect factor characteristic element",
    "component advantage disadvantage benefit importance role influence basis context framework process procedure task",
    "activity action event time period moment date day week month year hour minute second decade century morning",
    "afternoon evening night weekend spring summer autumn winter age mention answer reply response message call",
    "sentence paragraph text title content agent caller sender recipient internal external confidential rest others",
    "something anything nothing everything room floor door window eye head face arm leg foot feet voice breath body",
    "proc op-ed cookie sign login menu click link site privacy rights mind follow-up stop visit arrangement advance",
    "plus offer lump gain priority apology fault price lieu news anybody nobody anything party ability",
)
# Titles and roles before a name, which is a phrase without them.
ROLES = _words(
    "mr mrs ms miss dr prof professor sir madam lord lady captain inspector president minister mayor councillor",
    "councilor governor senator judge king queen prince princess pope saint aunt uncle chancellor general colonel",
    "major lieutenant sergeant chief",
)
# Adjectives that make one word with the noun before them: "gluten free bread".
COMPOUNDING = _words(
    "free based like friendly related specific aware proof rich poor wide oriented driven resistant sensitive",
    "dependent independent only cancelling canceling",
)

# Participles that make one word with the noun before them: "laser induced fluorescence".
COMPOUNDED = _words(
    "based aided assisted oriented related induced generated centered centred mediated coupled boosted locked named",
    "fired powered controlled dominated acquired owned funded shaped sized coloured colored backed guided enhanced",
    "supported inspired delayed evoked shared weighted valued labeled labelled enabled ordered limited constrained",
    "distributed embedded supervised integrated restricted matched optimized optimised augmented gated adjusted",
    "computed combined simulated accelerated modulated associated derived linked tagged fixed squared mixed",
)

# What people are called by what they do, before their name at the beginning of a sentence.
OCCUPATIONS = _words(
    "Actor Actress Analyst Architect Artist Attorney Author Barrister Boss Chair Chairman Chairwoman Coach",
    "Comedian Commissioner Constable Consultant Councillor Curator Defender Deputy Designer Detective Director",
    "Economist Editor Engineer Farmer Forecaster Founder Goalkeeper Headteacher Historian Journalist Lawyer",
    "Manager Midfielder Nurse Officer Organiser Photographer Physiotherapist Pilot Player Researcher Reporter",
    "Scientist Secretary Shopkeeper Singer Skipper Solicitor Spokesman Spokesperson Spokeswoman Striker",
    "Substitute Surgeon Teacher Teenager Treasurer Winger Writer",
)
# Institutions that say what they are for: "Institute for Fiscal Studies", "Royal Commission on Rural Health".
BODIES = _words(
    "Academy Agency Association Authority Board Bureau Campaign Center Centre Centers Centres Commission Committee",
    "Conference Congress Convention Council Department Directorate Faculty Federation Foundation Fund Institute",
    "Laboratory Ministry Network Office Organisation Organization Panel Programme Program Project Society Treaty Trust",
    "Union War",
)

# What stands in small letters inside names of persons, and what does so after another of these alone ("von der").
LATER_PARTICLES = frozenset(("der", "den", "des"))
PARTICLES = _words(
    "de del della delle dello dei degli der den di da dal dos du des la le van von zu zur ten ter tot bin ibn al el"
)

# Adjectives that names of places and bodies begin with.
OPENING = _words(
    "New North South East West Northern Southern Eastern Western Great Grand Royal United Lower Upper Saint"
)

# What headlines write small, besides shorter words.
PREPOSITIONS = _words(
    "from with into onto over upon than that this their between through under after before about against",
    "during without within among across toward towards using via amid despite when while what whose which around",
    "behind",
)

# Whom a query is for, which it says at its end: "running jacket women".
AUDIENCE = _words(
    "women men kids children adults beginners seniors students teens girls boys babies toddlers dogs cats"
)
# Verbs that taggers take for nouns; after a plural they are verbs: "neighbours share".
VERBS = _words(
    "share show work run play place report cause help plan offer move change drop form need want hope fear love vote",
    "talk call meet face hold host join act lead cost yield suffer benefit vary remain become make take get go grow",
    "die live save spend score claim flood lack match rise fall increase decrease",
    "answer influence aim focus trust use photograph record offset outweigh boost curb ease fuel hit weigh outnumber",
)
# Codes that stand beside amounts.
CURRENCIES = _words(
    "AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MXN MYR NGN NOK NZD PHP PKR PLN RMB",
    "RON RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR",
)

# What follows verbs and no noun.
ASKING = frozenset(("how", "whether", "why", "what"))
# What is said before "that": after a noun they are verbs, whatever their tag.
SAYING = _words(
    "reports says claims states notes shows finds argues warns hopes fears thinks thought report claim state note show",
    "find argue warn hope fear think believe believes suggests suggest indicates indicate means estimates estimate",
)

# What these words are in the grammar of `erukg.core.chunking`, whatever their tag.
OF, AND, UNIT, IMPERATIVE = "F", "A", "U", "M"
_UNITS = _words(
    "g kg mg ml l cm mm m km v w minutes minute hours hour days day weeks week months month years year seconds second",
    "percent per people patients participants grams gram litres liters tablespoons tablespoon teaspoons teaspoon cups",
    "cup times points million billion thousand hundred dozen pounds euros dollars degrees mile miles metre metres",
    "meter meters feet inches pages words men women children subjects cases samples tbsp tsp oz lb min mins hr hrs sec",
    "secs tin tins can cans clove cloves bunch sprig sprigs pinch handful knob",
    "years' months' weeks' days' hours' minutes' year's month's week's day's hour's",
)
# Verbs that instructions begin with and that are nouns or adjectives elsewhere.
_IMPERATIVES = _words(
    "mix fry simmer bake chop peel slice boil stir add heat cook serve pour whisk preheat drain season cut place",
    "remove cover roast grill melt combine blend knead soak sprinkle spread toss rinse dust scatter bring leave keep",
    "press click select open install check restart let make take put turn use see note call send write read run start",
    "stop go come try ask tell give get set wait wash dry fold roll shape brush beat cream garnish reduce return",
    "transfer arrange fill rub squeeze grate strain discard repeat enter type choose download visit contact follow",
    "ensure avoid remember consider apply insert connect disconnect switch plug unplug attach tighten loosen lift pull",
    "push hold release whip warm cool chill rest freeze spoon ladle crush mash trim halve quarter core",
)
SPECIAL: dict[str, str] = {
    **dict.fromkeys(_IMPERATIVES, IMPERATIVE),
    **dict.fromkeys(_UNITS, UNIT),
    **dict.fromkeys(WEAK, "W"),
    **dict.fromkeys(NEVER, "O"),
    "of": OF,
    "and": AND,
}
